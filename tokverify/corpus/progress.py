"""Add up the results of units as they arrive, and tell how far a run is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tokverify.corpus.document import WorkUnit
from tokverify.corpus.plan import Plan
from tokverify.corpus.result import StoredSum, Tally, TallySum, UnitResult, add
from tokverify.corpus.state import StateDirectory
from tokverify.report.corpus import CorpusProgress
from tokverify.report.fuzz import Share

_FEWEST_NEW = 1024
"""How many results to read one by one rather than to store their sum."""


class ProgressCounter:
    """Counts the results of some units, each once.

    Args:
        units: The units that are expected.
    """

    def __init__(self, units: Sequence[WorkUnit]) -> None:
        self._left = {unit.id: unit for unit in units}
        self._name = min(self._left, default="")
        """Tells the parts of a plan apart, none of which have a unit in common."""
        self._units = len(self._left)
        self._bytes = self._bytes_left = sum(unit.size for unit in self._left.values())
        self._seconds = 0.0
        self._complete = TallySum()
        """The sum of the units in which everything could be read, except for rows that are null."""
        self._complete_units: list[str] = []
        self._complete_seconds = 0.0
        self._stored = 0
        """How many of them are in the sum that was stored last."""
        self._incomplete = TallySum()
        """The sum of the others, which may be repeated."""

    def take(self, result: UnitResult) -> None:
        """Add a result, unless it has been added before."""
        if result.unit not in self._left:
            return
        self._remove(result.unit)
        self._seconds += result.seconds
        if result.tally.unreadable > result.tally.null:  # a row that is null stays so
            self._incomplete.add(result.tally)
        else:
            self._complete.add(result.tally)
            self._complete_units.append(result.unit)
            self._complete_seconds += result.seconds

    def take_stored(self, state: StateDirectory, plan: Plan) -> None:
        """Add everything that a directory contains; the results of units in a stored sum are not read.

        Raises:
            TokverifyError: If a file in it is broken, or belongs to another plan.
        """
        for stored in state.sums(plan.id):
            if stored.units <= self._left.keys():  # a sum can be used only as a whole
                self._take_sum(stored)
        for result in state.results(plan.id, self.missing):
            self.take(result)

    def _take_sum(self, stored: StoredSum) -> None:
        for unit in stored.units:
            self._remove(unit)
        self._seconds += stored.seconds
        self._complete.add(stored.tally)
        self._complete_units += stored.units
        self._complete_seconds += stored.seconds
        self._stored = len(self._complete_units)

    def _remove(self, unit: str) -> None:
        self._bytes_left -= self._left.pop(unit).size

    def store(self, state: StateDirectory, plan: Plan) -> None:
        """Store the sum if it has grown enough: writing it takes time for all that it contains."""
        units = self._complete_units
        if len(units) - self._stored >= max(_FEWEST_NEW, self._stored // 8):
            total = StoredSum(plan.id, frozenset(units), self._complete.tally(), self._complete_seconds)
            state.store_sum(total, self._name)
            self._stored = len(units)

    @property
    def missing(self) -> list[WorkUnit]:
        """The units without a result."""
        return list(self._left.values())

    @property
    def tally(self) -> Tally:
        """The sum of the results."""
        return add(self._complete.tally(), self._incomplete.tally())

    @property
    def remaining_bytes(self) -> int:
        """The size of the units without a result; at least 1 if there are any."""
        return max(self._bytes_left, len(self._left))

    @property
    def progress(self) -> CorpusProgress:
        """The current state."""
        counts = self._complete.counts + self._incomplete.counts
        causes: Counter[str] = Counter()
        for part in (self._complete, self._incomplete):
            causes.update({cause: found.documents for cause, found in part.tables["causes"].items()})
        return CorpusProgress(
            units=Share(self._units - len(self._left), self._units),
            file_bytes=Share(self._bytes - self._bytes_left, self._bytes),
            documents=counts["documents"],
            bytes=counts["bytes"],
            differing=counts["differing"],
            unreadable=counts["unreadable"],
            causes=dict(sorted(causes.items())),
            busy_seconds=self._seconds,
        )
