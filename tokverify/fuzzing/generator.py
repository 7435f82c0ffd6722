"""Generators: endless streams of texts that are likely to show where two tokenizers differ.

Each is reproducible: the same random numbers and the same vocabulary give the same texts. A new one is a function and a
line in `GENERATORS`; the first line of its docstring is its description in docs/fuzz.md.
"""

from __future__ import annotations

import unicodedata
from functools import wraps
from itertools import islice
from math import gcd
from operator import add
from random import Random
from typing import TYPE_CHECKING

from tokverify.fuzzing import alphabet
from tokverify.fuzzing.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tokverify.fuzzing.sample import Vocabulary

    TextGenerator = Callable[[Random, Vocabulary], Iterator[str]]
    Generator = Callable[[Random, Vocabulary, int], Iterator[Sample]]

BATCH = 600
"""About how many samples a batch has."""

_PIECES_A_TEXT = 4
_LONG_RUN = 600
"""Longer than the words that byte-pair encoding merges with its simple loop."""

_MANY_WORDS = 300
"""Longer texts than any part that is remembered."""

_CONTEXTS = (
    "{}", "a{}", "{}a", "a{}a", " {}", "{} ", " {} ", "a {} a", "a  {}  a",
    "\n{}", "{}\n", "\n{}\n", "a \n{}\n a", "\t{}\t",
    ".{}.", "1{}1", "é{}語", "{}{}", "{} {}", "{}\n{}", "{}a{}",
)  # fmt: skip


_MODES = ((False, False), (False, True), (True, False), (True, True))


def _in_any_mode(generate: TextGenerator) -> Generator:
    """Make a generator of one whose texts are worth trying with any options."""

    @wraps(generate)
    def samples(rng: Random, vocabulary: Vocabulary, start: int) -> Iterator[Sample]:  # noqa: ARG001 - one signature
        for text in generate(rng, vocabulary):
            yield Sample(text, *_MODES[int(rng.random() * 4)])

    return samples


def scattered(size: int, start: int) -> Iterator[int]:
    """Yield each number below `size` once, from the `start`-th on, in an order that spreads them evenly."""
    # Multiples of a number near the golden section keep away from those before them.
    stride = next((stride for stride in range(int(size * 0.618), 0, -1) if gcd(stride, size) == 1), 1)
    return (number * stride % size for number in range(start, size))


def pieces(rng: Random, vocabulary: Vocabulary, start: int) -> Iterator[Sample]:
    """Texts of vocabulary tokens joined: first each token once, then at random."""
    texts = vocabulary.texts
    walk = scattered(len(texts), start * _PIECES_A_TEXT) if texts else iter(())
    while texts:
        parts = [texts[index] for index in islice(walk, _PIECES_A_TEXT)] or rng.choices(texts, k=rng.randint(1, 6))
        separator = rng.choice(("", "", "", " ", "\n"))
        yield Sample(separator.join(parts), *_MODES[int(rng.random() * 4)])


def added_tokens(rng: Random, vocabulary: Vocabulary, start: int) -> Iterator[Sample]:
    """Every added token in every context, in all four modes; once all have been, random runs of them."""
    tokens = vocabulary.added
    for index in scattered(len(tokens) * len(_CONTEXTS) * len(_MODES), start):
        rest, mode = divmod(index, len(_MODES))
        token, context = divmod(rest, len(_CONTEXTS))
        yield Sample(_CONTEXTS[context].replace("{}", tokens[token]), *_MODES[mode])
    while tokens:
        parts = [part for token in rng.choices(tokens, k=rng.randint(1, 4)) for part in (token, _glue(rng, vocabulary))]
        yield Sample(_glue(rng, vocabulary) + "".join(parts), *_MODES[int(rng.random() * 4)])


def _chance(rng: Random, probability: float) -> bool:
    return rng.random() < probability


def _glue(rng: Random, vocabulary: Vocabulary) -> str:
    return rng.choice(alphabet.SPACINGS) if _chance(rng, 0.7) else rng.choice(vocabulary.words)


@_in_any_mode
def near_misses(rng: Random, vocabulary: Vocabulary) -> Iterator[str]:
    """Near misses of added tokens: a character short, doubled, or changed, other case, cut or overlapping."""
    while vocabulary.added:
        token, other = rng.choices(vocabulary.added, k=2)
        cut = rng.randrange(len(token))
        yield rng.choice(
            (
                token[:cut] + token[cut + 1 :],
                token[: cut + 1] + token[cut:],
                token[:cut] + rng.choice(" ▁a<|\n") + token[cut:],
                token[:cut] + chr(ord(token[cut]) ^ 1) + token[cut + 1 :] if token[cut].isascii() else token[:cut],
                token.swapcase(),
                token[:cut] + other + token[cut:],
                token + token[cut:],
                token[cut:] + other[: cut + 1],
            )
        )


@_in_any_mode
def stored(rng: Random, vocabulary: Vocabulary) -> Iterator[str]:
    """Pieces as they are stored, `▁` and `<0x0A>` included, which a text must not be taken for."""
    while vocabulary.stored:
        parts = rng.choices(vocabulary.stored, k=rng.randint(1, 3))
        yield rng.choice(("", " ", "a")).join(parts)


@_in_any_mode
def words(rng: Random, vocabulary: Vocabulary) -> Iterator[str]:
    """Words of the vocabulary and of many languages, with random spacing; now and then hundreds of them."""
    known = vocabulary.words
    while True:
        chosen = rng.choices(known, k=_MANY_WORDS if _chance(rng, 0.004) else rng.randint(1, 5))
        chosen[0] = rng.choice((str, str, str.upper, str.title, str.swapcase))(chosen[0])
        parts = [part for word in chosen for part in (rng.choice(alphabet.SPACINGS), word)]
        yield "".join(parts) + rng.choice(("", "", " ", "\n", ".", "  "))


@_in_any_mode
def repeats(rng: Random, vocabulary: Vocabulary) -> Iterator[str]:
    """One short unit many times over, now and then hundreds of times: which of equal merges comes first?"""
    while True:
        unit = rng.choice(alphabet.UNIT_PATTERNS).format(*rng.choices(vocabulary.units, k=3))
        times = _LONG_RUN // len(unit) if _chance(rng, 0.02) else rng.randint(2, 12)
        yield rng.choice(("", " ", "a")) + unit * times + rng.choice(("", unit[:1], "a"))


@_in_any_mode
def whitespace(rng: Random, vocabulary: Vocabulary) -> Iterator[str]:
    """Runs of spaces, tabs, newlines and Unicode's other white space: alone, between words, before and after them."""
    while True:
        one = rng.choice(alphabet.WHITESPACE)
        run = one * rng.randint(1, 20) if _chance(rng, 0.5) else "".join(rng.choices(alphabet.WHITESPACE[:6], k=4))
        mixed = "".join(rng.choices(alphabet.WHITESPACE, k=rng.randint(0, 3)))
        left, right = rng.choices(("", "", "a", "1", ".", rng.choice(vocabulary.words)), k=2)
        yield left + run + mixed + right


@_in_any_mode
def digits(rng: Random, vocabulary: Vocabulary) -> Iterator[str]:  # noqa: ARG001 - one signature
    """Runs of digits, their separators and units, other scripts' digits, fractions and numerals."""
    while True:
        zero = ord(rng.choice(alphabet.DIGIT_ZEROS)) if _chance(rng, 0.3) else ord("0")
        runs = [
            "".join(chr(zero + int(rng.random() * 10)) for _ in range(rng.randint(1, 7)))
            for _ in range(rng.randint(1, 3))
        ]
        if _chance(rng, 0.2):
            runs.append(rng.choice(alphabet.NUMBERS))
        yield rng.choice(("", "", " ", "a", "-", "\n")) + rng.choice(alphabet.NUMBER_SIGNS).join(runs)


@_in_any_mode
def apostrophes(rng: Random, vocabulary: Vocabulary) -> Iterator[str]:
    """Contractions and quotes: every kind of apostrophe before and after words, digits and spaces."""
    befores = ("", " ", "1", "\n", "!", "'")
    while True:
        parts = []
        for _ in range(rng.randint(1, 3)):
            before = rng.choice(befores) if _chance(rng, 0.3) else rng.choice(vocabulary.words)
            parts += [before, rng.choice(alphabet.CONTRACTIONS), rng.choice(("", " ", "a", "x "))]
        yield "".join(parts)


@_in_any_mode
def marks(rng: Random, vocabulary: Vocabulary) -> Iterator[str]:
    """Combining marks, joined emoji, flags and Hangul letters; composed and decomposed."""
    makers = (_accented, _joined_emoji, _jamo, _stacked)
    while True:
        text = rng.choice(makers)(rng, vocabulary)
        yield unicodedata.normalize(rng.choice(("NFC", "NFD")), text) if _chance(rng, 0.3) else text


def _accented(rng: Random, vocabulary: Vocabulary) -> str:
    return "".join(
        word + _from_ranges(rng, alphabet.MARKS, rng.randint(0, 3)) for word in rng.choices(vocabulary.words, k=2)
    )


def _joined_emoji(rng: Random, vocabulary: Vocabulary) -> str:  # noqa: ARG001 - one signature
    joiners = rng.choices(("", *alphabet.JOINERS), k=4)
    return "".join(map(add, rng.choices(alphabet.EMOJI, k=rng.randint(1, 4)), joiners))


def _jamo(rng: Random, vocabulary: Vocabulary) -> str:  # noqa: ARG001 - one signature
    return "".join(_from_ranges(rng, [jamo], 1) for jamo in rng.choices(alphabet.JAMO, k=rng.randint(1, 6)))


def _stacked(rng: Random, vocabulary: Vocabulary) -> str:  # noqa: ARG001 - one signature
    letters = _from_ranges(rng, alphabet.SCRIPTS["latin"], 3)
    return letters + _from_ranges(rng, alphabet.MARKS, 2)


@_in_any_mode
def scripts(rng: Random, vocabulary: Vocabulary) -> Iterator[str]:  # noqa: ARG001 - one signature
    """Letters of several scripts side by side, with and without spaces."""
    ranges = list(alphabet.SCRIPTS.values())
    while True:
        runs = [_from_ranges(rng, script, rng.randint(1, 5)) for script in rng.choices(ranges, k=rng.randint(1, 4))]
        yield rng.choice(("", "", " ", "1", "-")).join(runs)


@_in_any_mode
def unicode(rng: Random, vocabulary: Vocabulary) -> Iterator[str]:  # noqa: ARG001 - one signature
    """Random code points, each Unicode category as often as any other."""
    ranges = list(alphabet.category_ranges().values())
    while True:
        categories = rng.choices(ranges, k=rng.randint(1, 4))
        yield "".join(_from_ranges(rng, category, rng.randint(1, 2)) for category in categories)


@_in_any_mode
def code(rng: Random, vocabulary: Vocabulary) -> Iterator[str]:
    """Code-like text: keywords, operators, brackets, paths, markup and indentation."""
    while True:
        parts = rng.choices(alphabet.CODE, k=rng.randint(2, 8))
        if _chance(rng, 0.3):
            parts.insert(1, rng.choice(vocabulary.words))
        yield "".join(parts)


@_in_any_mode
def odd(rng: Random, vocabulary: Vocabulary) -> Iterator[str]:
    """Valid text that looks invalid: NUL, BOM, controls, private use, unassigned, noncharacters, look-alikes."""
    while True:
        parts = rng.choices(alphabet.ODD, k=rng.randint(1, 4))
        between = rng.choice(("", "", " ", "a", rng.choice(vocabulary.words)))
        yield rng.choice(("", "a", " ")) + between.join(parts) + rng.choice(("", "a", " "))


@_in_any_mode
def corpus(rng: Random, vocabulary: Vocabulary) -> Iterator[str]:
    """Excerpts of the files given with --corpus, mutated: cut, doubled, spliced, spaced, other case."""
    texts = vocabulary.corpus
    while texts:
        text = _excerpt(rng, rng.choice(texts))
        for _ in range(rng.randint(0, 3)):
            cut, end = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
            middle = rng.choice(
                (
                    "",
                    text[cut:end] * 2,
                    text[cut:end].swapcase(),
                    text[cut:end] + rng.choice(alphabet.WHITESPACE),
                    rng.choice(alphabet.ODD) + text[cut:end],
                    rng.choice(vocabulary.texts or texts)[:_LONG_RUN] + text[cut:end],
                    text[cut:end] + _excerpt(rng, rng.choice(texts))[:8],
                )
            )
            text = text[:cut] + middle + text[end:]
        yield text


def _excerpt(rng: Random, text: str) -> str:
    start = int(rng.random() * len(text))
    return text[start : start + rng.randint(1, 60)]


def _from_ranges(rng: Random, ranges: alphabet.Ranges, length: int) -> str:
    characters = []
    for _ in range(length):
        first, last = rng.choice(ranges)
        characters.append(chr(first + int(rng.random() * (last + 1 - first))))
    return "".join(characters)


GENERATORS: Mapping[str, Generator] = {
    "pieces": pieces,
    "added-tokens": added_tokens,
    "near-misses": near_misses,
    "stored": stored,
    "words": words,
    "repeats": repeats,
    "whitespace": whitespace,
    "digits": digits,
    "apostrophes": apostrophes,
    "marks": marks,
    "scripts": scripts,
    "unicode": unicode,
    "code": code,
    "odd": odd,
    "corpus": corpus,
}
"""Name -> what yields samples from random numbers, a vocabulary, and how many samples came before."""


def usable(names: Sequence[str], vocabulary: Vocabulary) -> list[str]:
    """Return those of `names` that this vocabulary has material for."""
    return [name for name in names if next(GENERATORS[name](Random(0), vocabulary, 0), None)]  # noqa: S311 - no secret


def batch(names: Sequence[str], vocabulary: Vocabulary, seed: int, number: int) -> list[Sample]:
    """Return one batch of samples, those of each generator in turn; batches are independent of each other."""
    each = max(1, BATCH // len(names))
    streams = [
        GENERATORS[name](Random(f"{seed}/{name}/{number}"), vocabulary, number * each)  # noqa: S311 - no secret
        for name in names
    ]
    return [next(stream) for _ in range(each) for stream in streams]
