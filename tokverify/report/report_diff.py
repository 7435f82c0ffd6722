"""ReportDiff: what changed from one report of `tokverify run` to the next, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from tokverify.report.difference import Divergence
from tokverify.report.fields import Count
from tokverify.report.run import Side, Status


class CaseChangeKind(StrEnum):
    """What happened to a case, the worst first."""

    FAILED = "failed"
    """It passed before and fails now."""
    NEW_FAILED = "new_failed"
    """It was not there before and fails."""
    CHANGED = "changed"
    """It failed before and fails differently now."""
    FIXED = "fixed"
    """It failed before and matches now."""
    STATUS = "status"
    """Its status is another one, such as skipped instead of match."""
    IDS = "ids"
    """It matches as before, with other ids."""
    NEW = "new"
    """It was not there before."""
    VANISHED = "vanished"
    """It is not there any more."""


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """The outcome of a case in one report."""

    status: Status
    message: str | None
    """Why, for an error or a skip."""
    divergence: Divergence | None
    """Where the ids diverge, for a mismatch."""
    other: str
    """The name of the side opposite `actual`."""
    actual: tuple[int, ...]
    """The ids of the actual side."""
    expected: tuple[int, ...]
    """The ids of the expected side."""


@dataclass(frozen=True, slots=True)
class CaseChange:
    """A case whose outcome changed."""

    case: str
    """The case, as suite/id."""
    kind: CaseChangeKind
    edited: bool
    """Whether the text or the options of the case changed, so that more than a tokenizer did."""
    old: CaseOutcome | None
    """The outcome before; None if the case was not there."""
    new: CaseOutcome | None
    """The outcome now; None if the case is not there."""


@dataclass(frozen=True, slots=True)
class SideChange:
    """One side of the comparison before and now."""

    same: bool
    """Whether both encode the same, as far as the reports show."""
    old: Side
    new: Side


@dataclass(frozen=True, slots=True)
class VersionChange:
    """A library of which the reports used different versions; None where a report did not use it."""

    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class ReportDiff:
    """What changed from one report to the next."""

    actual: SideChange
    expected: SideChange
    versions: Mapping[str, VersionChange]
    """The libraries whose versions differ, by name."""
    old_cases: Count
    """How many cases the old report has."""
    new_cases: Count
    changes: tuple[CaseChange, ...]
    """Ordered by kind, then as the cases ran."""


def changes_of(diff: ReportDiff, kind: CaseChangeKind) -> list[CaseChange]:
    """Return the changes of one kind."""
    return [change for change in diff.changes if change.kind is kind]


def report_diff_exit_code(diff: ReportDiff) -> int:
    """Return 1 if a case fails that passed or was not there, else 0."""
    return int(any(change.kind in {CaseChangeKind.FAILED, CaseChangeKind.NEW_FAILED} for change in diff.changes))


def summarize_report_diff(diff: ReportDiff) -> Mapping[str, object]:
    """Return the `summary` of the JSON report."""
    counts = {str(kind): len(changes_of(diff, kind)) for kind in CaseChangeKind}
    return {"exit_code": report_diff_exit_code(diff), **counts}
