"""The generators: endless streams of texts that are likely to reveal differences between two tokenizers.

Each is reproducible: the same random numbers and the same vocabulary yield the same texts. To add one, write a function
and add it to `GENERATORS`; the first line of its docstring becomes its description in docs/fuzz.md.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from itertools import islice
from math import gcd
from operator import add
from random import Random
from typing import TypeAlias

from tokverify.texts import alphabet
from tokverify.texts.sample import Sample, Vocabulary, vocabulary_of
from tokverify.tokenizer import Tokenizer

Generator: TypeAlias = Callable[[Random, Vocabulary, int], Iterator[Sample]]
"""Takes random numbers, a vocabulary, and the number of samples that earlier batches took."""

BATCH = 600
"""The approximate number of samples in a batch."""
_PIECES_A_TEXT = 4
_LONG_RUN = 600
"""Longer than the words that byte-pair encoding merges with its simple loop."""

_MANY_WORDS = 300
"""Longer texts than any part that is remembered."""

MODES = ((False, False), (False, True), (True, False), (True, True))
"""All combinations of `add_special` and `parse_special`."""

_CONTEXTS = (
    "{}", "a{}", "{}a", "a{}a", " {}", "{} ", " {} ", "a {} a", "a  {}  a",
    "\n{}", "{}\n", "\n{}\n", "a \n{}\n a", "\t{}\t",
    ".{}.", "1{}1", "é{}語", "{}{}", "{} {}", "{}\n{}", "{}a{}",
)  # fmt: skip


def random_mode(rng: Random) -> tuple[bool, bool]:
    """Choose one of `MODES`."""
    return MODES[int(rng.random() * 4)]


def with_random_mode(generate: Callable[[Random, Vocabulary], Iterator[str]]) -> Generator:
    """Turn a generator of texts into one of samples, each with random options."""

    @wraps(generate)
    def samples(rng: Random, vocabulary: Vocabulary, start: int) -> Iterator[Sample]:  # noqa: ARG001 - one signature
        for text in generate(rng, vocabulary):
            yield Sample(text, *random_mode(rng))

    return samples


def scatter(size: int, start: int) -> Iterator[int]:
    """Yield each number below `size` once, in an evenly scattered order, skipping the first `start` of them."""
    # Consecutive multiples of a number close to the golden ratio are far apart.
    stride = next((stride for stride in range(int(size * 0.618), 0, -1) if gcd(stride, size) == 1), 1)
    return (number * stride % size for number in range(start, size))


def chance(rng: Random, probability: float) -> bool:
    """Return True with the given probability."""
    return rng.random() < probability


def from_ranges(rng: Random, ranges: alphabet.Ranges, length: int) -> str:
    """Choose `length` characters; each range is equally likely."""
    characters = []
    for _ in range(length):
        first, last = rng.choice(ranges)
        characters.append(chr(first + int(rng.random() * (last + 1 - first))))
    return "".join(characters)


# Texts that are built from the tokenizer's own vocabulary, or from the files to mutate.


def pieces(rng: Random, vocabulary: Vocabulary, start: int) -> Iterator[Sample]:
    """Concatenated vocabulary tokens: first each token once, then random ones."""
    texts = vocabulary.texts
    walk = scatter(len(texts), start * _PIECES_A_TEXT) if texts else iter(())
    while texts:
        parts = [texts[index] for index in islice(walk, _PIECES_A_TEXT)] or rng.choices(texts, k=rng.randint(1, 6))
        separator = rng.choice(("", "", "", " ", "\n"))
        yield Sample(separator.join(parts), *random_mode(rng))


def one_sided(rng: Random, vocabulary: Vocabulary, start: int) -> Iterator[Sample]:
    """Added tokens and pieces that only one side has, or treats as control tokens, like `added-tokens`."""
    return _in_contexts(rng, vocabulary, vocabulary.one_sided, start)


def added_tokens(rng: Random, vocabulary: Vocabulary, start: int) -> Iterator[Sample]:
    """Every added token of either side in every context, in all four modes; after that, random runs of them."""
    return _in_contexts(rng, vocabulary, vocabulary.added, start)


def _in_contexts(rng: Random, vocabulary: Vocabulary, tokens: Sequence[str], start: int) -> Iterator[Sample]:
    for index in scatter(len(tokens) * len(_CONTEXTS) * len(MODES), start):
        rest, mode = divmod(index, len(MODES))
        token_index, context = divmod(rest, len(_CONTEXTS))
        yield Sample(_CONTEXTS[context].replace("{}", tokens[token_index]), *MODES[mode])
    while tokens:
        parts = []
        for token in rng.choices(tokens, k=rng.randint(1, 4)):
            parts += [token, _glue(rng, vocabulary)]
        yield Sample(_glue(rng, vocabulary) + "".join(parts), *random_mode(rng))


def _glue(rng: Random, vocabulary: Vocabulary) -> str:
    return rng.choice(alphabet.SPACINGS) if chance(rng, 0.7) else rng.choice(vocabulary.words)


@with_random_mode
def near_misses(rng: Random, vocabulary: Vocabulary) -> Iterator[str]:
    """Near misses of added tokens: a character missing, doubled or changed, other case, truncated or overlapping."""
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


@with_random_mode
def stored(rng: Random, vocabulary: Vocabulary) -> Iterator[str]:
    """Pieces in their stored form, such as `▁the` and `<0x0A>`, which must be encoded as ordinary text."""
    while vocabulary.stored:
        parts = rng.choices(vocabulary.stored, k=rng.randint(1, 3))
        yield rng.choice(("", " ", "a")).join(parts)


@with_random_mode
def words(rng: Random, vocabulary: Vocabulary) -> Iterator[str]:
    """Words of the vocabulary and of many languages, with random spacing; occasionally hundreds of them."""
    known = vocabulary.words
    while True:
        chosen = rng.choices(known, k=_MANY_WORDS if chance(rng, 0.004) else rng.randint(1, 5))
        chosen[0] = rng.choice((str, str, str.upper, str.title, str.swapcase))(chosen[0])
        parts = []
        for word in chosen:
            parts += [rng.choice(alphabet.SPACINGS), word]
        yield "".join(parts) + rng.choice(("", "", " ", "\n", ".", "  "))


@with_random_mode
def repeats(rng: Random, vocabulary: Vocabulary) -> Iterator[str]:
    """One short unit repeated many times, occasionally hundreds of times: which of several equal merges comes first?"""
    while True:
        unit = rng.choice(alphabet.UNIT_PATTERNS).format(*rng.choices(vocabulary.units, k=3))
        times = _LONG_RUN // len(unit) if chance(rng, 0.02) else rng.randint(2, 12)
        yield rng.choice(("", " ", "a")) + unit * times + rng.choice(("", unit[:1], "a"))


@with_random_mode
def corpus(rng: Random, vocabulary: Vocabulary) -> Iterator[str]:
    """Excerpts of the files given with --corpus, with parts deleted, doubled, spliced, spaced or in other case."""
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


# Texts that are hard for any tokenizer.


@with_random_mode
def whitespace(rng: Random, vocabulary: Vocabulary) -> Iterator[str]:
    """Runs of spaces, tabs, newlines and Unicode's other white space: alone, between words, before and after them."""
    while True:
        one = rng.choice(alphabet.WHITESPACE)
        run = one * rng.randint(1, 20) if chance(rng, 0.5) else "".join(rng.choices(alphabet.WHITESPACE[:6], k=4))
        mixed = "".join(rng.choices(alphabet.WHITESPACE, k=rng.randint(0, 3)))
        left, right = rng.choices(("", "", "a", "1", ".", rng.choice(vocabulary.words)), k=2)
        yield left + run + mixed + right


@with_random_mode
def digits(rng: Random, vocabulary: Vocabulary) -> Iterator[str]:  # noqa: ARG001 - one signature
    """Runs of digits, their separators and units, other scripts' digits, fractions and numerals."""
    while True:
        zero = ord(rng.choice(alphabet.DIGIT_ZEROS)) if chance(rng, 0.3) else ord("0")
        runs = [
            "".join(chr(zero + int(rng.random() * 10)) for _ in range(rng.randint(1, 7)))
            for _ in range(rng.randint(1, 3))
        ]
        if chance(rng, 0.2):
            runs.append(rng.choice(alphabet.NUMBERS))
        yield rng.choice(("", "", " ", "a", "-", "\n")) + rng.choice(alphabet.NUMBER_SIGNS).join(runs)


@with_random_mode
def apostrophes(rng: Random, vocabulary: Vocabulary) -> Iterator[str]:
    """Contractions and quotes: every kind of apostrophe before and after words, digits and spaces."""
    befores = ("", " ", "1", "\n", "!", "'")
    while True:
        parts = []
        for _ in range(rng.randint(1, 3)):
            before = rng.choice(befores) if chance(rng, 0.3) else rng.choice(vocabulary.words)
            parts += [before, rng.choice(alphabet.CONTRACTIONS), rng.choice(("", " ", "a", "x "))]
        yield "".join(parts)


@with_random_mode
def marks(rng: Random, vocabulary: Vocabulary) -> Iterator[str]:
    """Combining marks, joined emoji, flags and Hangul letters; composed and decomposed."""
    makers = (_accented_words, _joined_emoji, _jamo, _stacked_marks)
    while True:
        text = rng.choice(makers)(rng, vocabulary)
        yield unicodedata.normalize(rng.choice(("NFC", "NFD")), text) if chance(rng, 0.3) else text


def _accented_words(rng: Random, vocabulary: Vocabulary) -> str:
    return "".join(
        word + from_ranges(rng, alphabet.MARKS, rng.randint(0, 3)) for word in rng.choices(vocabulary.words, k=2)
    )


def _joined_emoji(rng: Random, vocabulary: Vocabulary) -> str:  # noqa: ARG001 - one signature
    joiners = rng.choices(("", *alphabet.JOINERS), k=4)
    return "".join(map(add, rng.choices(alphabet.EMOJI, k=rng.randint(1, 4)), joiners))


def _jamo(rng: Random, vocabulary: Vocabulary) -> str:  # noqa: ARG001 - one signature
    return "".join(from_ranges(rng, [jamo], 1) for jamo in rng.choices(alphabet.JAMO, k=rng.randint(1, 6)))


def _stacked_marks(rng: Random, vocabulary: Vocabulary) -> str:  # noqa: ARG001 - one signature
    letters = from_ranges(rng, alphabet.SCRIPTS["latin"], 3)
    return letters + from_ranges(rng, alphabet.MARKS, 2)


@with_random_mode
def scripts(rng: Random, vocabulary: Vocabulary) -> Iterator[str]:
    """Letters of several scripts, and of both vocabularies, side by side, with and without spaces."""
    ranges = list(alphabet.SCRIPTS.values())
    while True:
        runs = [from_ranges(rng, script, rng.randint(1, 5)) for script in rng.choices(ranges, k=rng.randint(1, 4))]
        if chance(rng, 0.3):
            runs.append("".join(rng.choices(vocabulary.units, k=rng.randint(1, 5))))
        yield rng.choice(("", "", " ", "1", "-")).join(runs)


@with_random_mode
def unicode(rng: Random, vocabulary: Vocabulary) -> Iterator[str]:  # noqa: ARG001 - one signature
    """Random code points; each Unicode category is equally likely."""
    ranges = list(alphabet.category_ranges().values())
    while True:
        categories = rng.choices(ranges, k=rng.randint(1, 4))
        yield "".join(from_ranges(rng, category, rng.randint(1, 2)) for category in categories)


@with_random_mode
def code(rng: Random, vocabulary: Vocabulary) -> Iterator[str]:
    """Code-like text: keywords, operators, brackets, paths, markup and indentation."""
    while True:
        parts = rng.choices(alphabet.CODE, k=rng.randint(2, 8))
        if chance(rng, 0.3):
            parts.insert(1, rng.choice(vocabulary.words))
        yield "".join(parts)


@with_random_mode
def odd(rng: Random, vocabulary: Vocabulary) -> Iterator[str]:
    """Valid text that looks invalid: NUL, BOM, controls, private use, unassigned, noncharacters, look-alikes."""
    while True:
        parts = rng.choices(alphabet.ODD, k=rng.randint(1, 4))
        between = rng.choice(("", "", " ", "a", rng.choice(vocabulary.words)))
        yield rng.choice(("", "a", " ")) + between.join(parts) + rng.choice(("", "a", " "))


GENERATORS: Mapping[str, Generator] = {
    "one-sided": one_sided,
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
"""Name -> generator."""


def make_samples(tokenizer: Tokenizer, count: int, seed: int) -> list[Sample]:
    """Return `count` samples from all generators that can make texts for a tokenizer."""
    vocabulary = vocabulary_of(tokenizer)
    names = select_usable(list(GENERATORS), vocabulary)
    samples: list[Sample] = []
    while len(samples) < count:
        # The texts of a batch depend only on its number and the seed.
        samples += make_batch(names, vocabulary, seed, len(samples))
    return samples[:count]


def select_usable(names: Sequence[str], vocabulary: Vocabulary) -> list[str]:
    """Return the generators among `names` that can make texts for this vocabulary."""
    return [name for name in names if next(GENERATORS[name](Random(0), vocabulary, 0), None)]  # noqa: S311 - no secret


def make_batch(names: Sequence[str], vocabulary: Vocabulary, seed: int, number: int) -> list[Sample]:
    """Return one batch of samples, one from each generator in turn; batches are independent of each other."""
    each = max(1, BATCH // len(names))
    streams = [
        GENERATORS[name](Random(f"{seed}/{name}/{number}"), vocabulary, number * each)  # noqa: S311 - no secret
        for name in names
    ]
    samples: list[Sample] = []
    for _ in range(each):
        samples += map(next, streams)
    return samples
