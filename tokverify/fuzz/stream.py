"""Stream: what the generators of texts are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from math import gcd
from typing import TYPE_CHECKING

from tokverify.fuzz.sample import Sample

if TYPE_CHECKING:
    from random import Random

    from tokverify.fuzz.alphabet import Ranges
    from tokverify.fuzz.sample import Vocabulary

    TextGenerator = Callable[[Random, Vocabulary], Iterator[str]]
    # It yields samples from random numbers, a vocabulary, and how many samples came before.
    Generator = Callable[[Random, Vocabulary, int], Iterator[Sample]]

MODES = ((False, False), (False, True), (True, False), (True, True))
"""All `add_special` and `parse_special` that a sample can have."""


def any_mode(rng: Random) -> tuple[bool, bool]:
    """Choose a mode."""
    return MODES[int(rng.random() * 4)]


def in_any_mode(generate: TextGenerator) -> Generator:
    """Make a generator of one whose texts are worth trying with any options."""

    @wraps(generate)
    def samples(rng: Random, vocabulary: Vocabulary, start: int) -> Iterator[Sample]:  # noqa: ARG001 - one signature
        for text in generate(rng, vocabulary):
            yield Sample(text, *any_mode(rng))

    return samples


def scattered(size: int, start: int) -> Iterator[int]:
    """Yield each number below `size` once, from the `start`-th on, in an order that spreads them evenly."""
    # Multiples of a number near the golden section keep away from those before them.
    stride = next((stride for stride in range(int(size * 0.618), 0, -1) if gcd(stride, size) == 1), 1)
    return (number * stride % size for number in range(start, size))


def chance(rng: Random, probability: float) -> bool:
    """Return True with `probability`."""
    return rng.random() < probability


def from_ranges(rng: Random, ranges: Ranges, length: int) -> str:
    """Choose `length` characters, each of one of `ranges`, all of these equally often."""
    characters = []
    for _ in range(length):
        first, last = rng.choice(ranges)
        characters.append(chr(first + int(rng.random() * (last + 1 - first))))
    return "".join(characters)
