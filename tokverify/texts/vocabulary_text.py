"""Generators of texts that are built from the tokenizer's own vocabulary, or from the files to mutate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from tokverify.texts import alphabet
from tokverify.texts.sample import Sample, Vocabulary
from tokverify.texts.stream import MODES, chance, random_mode, scatter, with_random_mode

if TYPE_CHECKING:
    from random import Random

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
