"""Building blocks of the generators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from math import gcd
from typing import TYPE_CHECKING

from tokverify.texts.sample import Sample, Vocabulary

if TYPE_CHECKING:
    from random import Random

    from tokverify.texts.alphabet import Ranges

    TextGenerator = Callable[[Random, Vocabulary], Iterator[str]]
    # Arguments: random numbers, a vocabulary, and the number of samples that earlier batches took.
    Generator = Callable[[Random, Vocabulary, int], Iterator[Sample]]

MODES = ((False, False), (False, True), (True, False), (True, True))
"""All combinations of `add_special` and `parse_special`."""


def random_mode(rng: Random) -> tuple[bool, bool]:
    """Choose one of `MODES`."""
    return MODES[int(rng.random() * 4)]


def with_random_mode(generate: TextGenerator) -> Generator:
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


def from_ranges(rng: Random, ranges: Ranges, length: int) -> str:
    """Choose `length` characters; each range is equally likely."""
    characters = []
    for _ in range(length):
        first, last = rng.choice(ranges)
        characters.append(chr(first + int(rng.random() * (last + 1 - first))))
    return "".join(characters)
