"""Add up the results of units as they arrive, and tell how far a run is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tokverify.corpus.result import Tally, UnitResult, add
from tokverify.report.corpus import CorpusProgress
from tokverify.report.fuzz import Share

if TYPE_CHECKING:
    from tokverify.corpus.unit import WorkUnit


class ProgressCounter:
    """Counts the results of some units, each once.

    Args:
        units: The units that are expected.
    """

    def __init__(self, units: Sequence[WorkUnit]) -> None:
        self._left = {unit.id: unit.size for unit in units}
        self._units = len(self._left)
        self._bytes = sum(self._left.values())
        self._seconds = 0.0
        self.tally = Tally()
        """The sum of the results."""

    def take(self, result: UnitResult) -> None:
        """Add a result, unless it has been added before."""
        if self._left.pop(result.unit, None) is not None:
            self._seconds += result.seconds
            self.tally = add(self.tally, result.tally)

    def take_all(self, results: Iterable[UnitResult]) -> None:
        """Add several results."""
        for result in results:
            self.take(result)

    @property
    def remaining_bytes(self) -> int:
        """The size of the units without a result; at least 1 if there are any."""
        return max(sum(self._left.values()), len(self._left))

    @property
    def progress(self) -> CorpusProgress:
        """The current state."""
        return CorpusProgress(
            units=Share(self._units - len(self._left), self._units),
            file_bytes=Share(self._bytes - sum(self._left.values()), self._bytes),
            documents=self.tally.documents,
            bytes=self.tally.bytes,
            differing=self.tally.differing,
            unreadable=self.tally.unreadable,
            causes={cause: found.documents for cause, found in self.tally.causes.items()},
            busy_seconds=self._seconds,
        )
