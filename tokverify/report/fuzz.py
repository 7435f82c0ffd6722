"""FuzzReport: what was to be tried and what came of it, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from tokverify.fuzz.generator import GENERATORS

if TYPE_CHECKING:
    from tokverify.fuzz.cause import Cause
    from tokverify.fuzz.coverage import Share
    from tokverify.report.run import Report


INTERRUPTED = 130
"""The exit code of what Ctrl-C ended."""


class Stop(StrEnum):
    """Why a run ended."""

    COUNT = "count"
    TIME = "time"
    COVERAGE = "coverage"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Plan:
    """What to try, and until when: the first of `count` texts, `seconds`, and the `coverage` of the pieces (0 to 1).

    `decoding` compares how the two sides decode, too; with llama.cpp that is always done.
    """

    seed: int = 0
    generators: tuple[str, ...] = tuple(GENERATORS)
    count: int | None = None
    seconds: float | None = None
    coverage: float | None = None
    decoding: bool = False
    corpus: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is."""

    strings: int
    failing: int
    causes: int
    pieces: Share
    merges: Share | None


@dataclass(frozen=True, slots=True)
class FuzzReport:
    """Everything a run found.

    `report` has one result for each of `causes`, in the same order. `failing` counts the texts that failed, `unlisted`
    those among all that did not match whose cause is not listed, `skipped` those that could not be compared.
    `by_generator` maps a generator to the texts it made and how many of them failed. `notes` say which options
    were off throughout. `seconds` is how long it took, which no report tells: 0 in one that was read back.
    """

    report: Report
    causes: tuple[Cause, ...]
    strings: int
    failing: int
    skipped: int
    unlisted: int
    by_generator: Mapping[str, tuple[int, int]]
    pieces: Share
    merges: Share | None
    stop: Stop
    seconds: float = field(default=0.0, compare=False)
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 if nothing was found, 1 if something was, 2 if nothing could be compared, 130 if Ctrl-C ended it."""
        if self.stop is Stop.INTERRUPTED:
            return INTERRUPTED
        if self.failing:
            return 1
        return 0 if self.compared else 2

    @property
    def compared(self) -> int:
        """How many texts were compared."""
        return self.strings - self.skipped
