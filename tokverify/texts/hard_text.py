"""Generators of texts that are hard for any tokenizer: white space, digits, marks, scripts, code and the like."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from operator import add
from typing import TYPE_CHECKING

from tokverify.texts import alphabet
from tokverify.texts.sample import Vocabulary
from tokverify.texts.stream import chance, from_ranges, with_random_mode

if TYPE_CHECKING:
    from random import Random


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
