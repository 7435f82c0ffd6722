"""Compute the plots by suite: how many cases match, and how many tokens a character takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tokverify.report.run import CaseResult, Report, Status
from tokverify.text.visible import visible_message

_STEPS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_MAX_TICKS = 5


@dataclass(slots=True)
class SuiteCount:
    """The totals of a suite; characters and tokens include only cases that both sides encoded."""

    name: str
    statuses: Counter[Status] = field(default_factory=Counter)
    characters: int = 0
    actual: int = 0
    expected: int = 0

    def add(self, result: CaseResult) -> None:
        """Count one case."""
        self.statuses[result.status] += 1
        if result.actual or result.expected:
            self.characters += len(result.case.text)
            self.actual += len(result.actual)
            self.expected += len(result.expected)

    @property
    def compared(self) -> int:
        """The number of cases that were not skipped."""
        return self.statuses.total() - self.statuses[Status.SKIPPED]

    @property
    def match_rate(self) -> float | None:
        """The share of the compared cases that match; None if all were skipped."""
        return self.statuses[Status.MATCH] / self.compared if self.compared else None

    @property
    def rates(self) -> tuple[float, float] | None:
        """Tokens per character on both sides; None if nothing was encoded."""
        return (self.actual / self.characters, self.expected / self.characters) if self.characters else None


def suite_counts(report: Report) -> list[SuiteCount]:
    """Count by suite; the suites with the lowest share of matches come first."""
    counts: dict[str, SuiteCount] = {}
    for result in report.results:
        counts.setdefault(result.case.suite, SuiteCount(visible_message(result.case.suite))).add(result)
    return sorted(counts.values(), key=lambda count: 2.0 if count.match_rate is None else count.match_rate)


def segments(count: SuiteCount) -> list[tuple[str, float, float]]:
    """Return the segments of a bar as (status, start, length) in percent, without skipped cases."""
    at = 0.0
    found = []
    for status in (Status.MATCH, Status.KNOWN, Status.MISMATCH, Status.ERROR):
        if count.statuses[status]:
            length = 100 * count.statuses[status] / count.compared
            found.append((str(status), round(at, 2), round(length, 2)))
            at += length
    return found


def ticks(counts: Iterable[SuiteCount]) -> list[float]:
    """Return round marks from 0 to at least the largest number of tokens per character."""
    most = max((rate for count in counts for rate in count.rates or ()), default=0.0)
    step = next((step for step in _STEPS if step * _MAX_TICKS >= most), most / _MAX_TICKS)
    marks = [0.0, step]
    while marks[-1] < most:
        marks.append(round(marks[-1] + step, 6))
    return marks
