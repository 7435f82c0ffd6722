"""Define what a fuzzing run tries, and when it ends."""

from __future__ import annotations

from dataclasses import dataclass

from tokverify.texts.generator import GENERATORS
from tokverify.texts.sample import Sample


@dataclass(frozen=True, slots=True)
class FuzzPlan:
    """What to try; the run ends at the first of the limits that are set."""

    seed: int = 0

    generators: tuple[str, ...] = tuple(GENERATORS)
    """Names in `GENERATORS`."""

    count: int | None = None
    """Limit: the number of texts."""

    seconds: float | None = None
    """Limit: the time in seconds."""

    coverage: float | None = None
    """Limit: the share of the vocabulary's pieces that at least one text produced, from 0 to 1."""

    decoding: bool = False
    """Whether to compare decoding too; against llama.cpp it is always compared."""

    earlier: tuple[Sample, ...] = ()
    """Texts that differed in earlier runs, to be tried first; the limits do not count them."""

    corpus: tuple[str, ...] = ()
    """Texts for the generator `corpus` to mutate."""
