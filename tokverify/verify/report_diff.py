"""Compare two reports: which cases fail now that passed, which are fixed, and what else changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from tokverify.report.run import Status
from tokverify.verify.baseline import digest

if TYPE_CHECKING:
    from tokverify.report.run import CaseResult, Report

_FAILING = frozenset({Status.MISMATCH, Status.ERROR})


class Kind(StrEnum):
    """What happened to a case, the worst first."""

    FAILED = "failed"
    NEW_FAILED = "new and failing"
    CHANGED = "failing otherwise"
    FIXED = "fixed"
    STATUS = "with another status"
    IDS = "matching with other ids"
    NEW = "new"
    VANISHED = "vanished"


@dataclass(frozen=True, slots=True)
class CaseChange:
    """A case that came out differently; `old` or `new` is None where the report lacks it."""

    name: str
    kind: Kind
    old: CaseResult | None
    new: CaseResult | None

    @property
    def edited(self) -> bool:
        """Whether the case itself is another one, by its text or options, so that more than a tokenizer changed."""
        if self.old is None or self.new is None:
            return False
        cases = (self.old.case, self.new.case)
        first, second = ((case.text, case.add_special, case.parse_special) for case in cases)
        return first != second


@dataclass(frozen=True, slots=True)
class ReportDiff:
    """What changed from one report to another; `changes` are ordered by kind, then as the cases ran."""

    old: Report
    new: Report
    changes: tuple[CaseChange, ...]

    def of(self, kind: Kind) -> list[CaseChange]:
        """Return the changes of a kind."""
        return [change for change in self.changes if change.kind is kind]

    @property
    def exit_code(self) -> int:
        """1 if a case fails that passed or was not there, else 0."""
        return int(any(change.kind in {Kind.FAILED, Kind.NEW_FAILED} for change in self.changes))


def compare_reports(old: Report, new: Report) -> ReportDiff:
    """Compare two reports case by case, by suite/id."""
    order = list(Kind)
    changes = sorted(_changes(old, new), key=lambda change: order.index(change.kind))
    return ReportDiff(old, new, tuple(changes))


def _changes(old: Report, new: Report) -> Iterator[CaseChange]:
    before = {result.name: result for result in old.results}
    after = {result.name: result for result in new.results}
    for name, result in after.items():
        kind = _kind(before.get(name), result)
        if kind:
            yield CaseChange(name, kind, before.get(name), result)
    for name, result in before.items():
        if name not in after:
            yield CaseChange(name, Kind.VANISHED, result, None)


def _kind(old: CaseResult | None, new: CaseResult) -> Kind | None:
    fails = new.status in _FAILING
    if old is None:
        return Kind.NEW_FAILED if fails else Kind.NEW
    failed = old.status in _FAILING
    if fails and failed:
        return Kind.CHANGED if digest(old) != digest(new) else None
    if fails:
        return Kind.FAILED
    if new.status is Status.MATCH and (failed or old.known):
        return Kind.FIXED
    if old.status is not new.status:
        return Kind.STATUS
    return Kind.IDS if old.actual != new.actual else None
