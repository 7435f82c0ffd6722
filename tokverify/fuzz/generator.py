"""Generators: endless streams of texts that are likely to show where two tokenizers differ.

Each is reproducible: the same random numbers and the same vocabulary give the same texts. A new one is a function and a
line in `GENERATORS`; the first line of its docstring is its description in docs/fuzz.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING

from tokverify.fuzz import hard_text, vocabulary_text

if TYPE_CHECKING:
    from tokverify.fuzz.sample import Sample, Vocabulary
    from tokverify.fuzz.stream import Generator

BATCH = 600
"""About how many samples a batch has."""

GENERATORS: Mapping[str, Generator] = {
    "pieces": vocabulary_text.pieces,
    "added-tokens": vocabulary_text.added_tokens,
    "near-misses": vocabulary_text.near_misses,
    "stored": vocabulary_text.stored,
    "words": vocabulary_text.words,
    "repeats": vocabulary_text.repeats,
    "whitespace": hard_text.whitespace,
    "digits": hard_text.digits,
    "apostrophes": hard_text.apostrophes,
    "marks": hard_text.marks,
    "scripts": hard_text.scripts,
    "unicode": hard_text.unicode,
    "code": hard_text.code,
    "odd": hard_text.odd,
    "corpus": vocabulary_text.corpus,
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
