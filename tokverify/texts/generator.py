"""The generators: endless streams of texts that are likely to reveal differences between two tokenizers.

Each is reproducible: the same random numbers and the same vocabulary yield the same texts. To add one, write a function
and add it to `GENERATORS`; the first line of its docstring becomes its description in docs/fuzz.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING

from tokverify.texts import hard_text, vocabulary_text
from tokverify.texts.sample import Sample, Vocabulary, vocabulary_of
from tokverify.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokverify.texts.stream import Generator

BATCH = 600
"""The approximate number of samples in a batch."""

GENERATORS: Mapping[str, Generator] = {
    "one-sided": vocabulary_text.one_sided,
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
