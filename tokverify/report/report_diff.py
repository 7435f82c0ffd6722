"""ReportDiff: what changed from one report of `tokverify run` to the next, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from tokverify.report.difference import Divergence
from tokverify.report.fields import Count
from tokverify.report.run import Status
from tokverify.report.side import Side
from tokverify.report.tokenizer_difference import TokenizerDifference


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
    """What came of it."""
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
    """What happened to it."""
    edited: bool
    """Whether the text or the options of the case changed, so that more than a tokenizer did."""
    old: CaseOutcome | None
    """The outcome before; None if the case was not there."""
    new: CaseOutcome | None
    """The outcome now; None if the case is not there."""


class DifferenceChangeKind(StrEnum):
    """What happened to a difference between the tokenizers themselves, the worst first."""

    FAILED = "failed"
    """It fails the run now; before, it was not there, accepted or only shown."""
    SHOWN = "shown"
    """It is shown or accepted now; before, it was not there."""
    FIXED = "fixed"
    """It failed the run before; now, it is not there although everything was compared, or accepted or only shown."""
    VANISHED = "vanished"
    """It was there before and is not now, which proves nothing if it failed the run, as less was compared."""


@dataclass(frozen=True, slots=True)
class DifferenceChange:
    """A difference between the tokenizers themselves that changed."""

    kind: DifferenceChangeKind
    """What happened to it."""
    difference: TokenizerDifference
    """As it is now or, if it is not there any more, as it was before."""


@dataclass(frozen=True, slots=True)
class SideChange:
    """One side of the comparison before and now."""

    same: bool
    """Whether both encode the same, as far as the reports show."""
    old: Side
    """What it was."""
    new: Side
    """What it is now."""


@dataclass(frozen=True, slots=True)
class VersionChange:
    """A library of which the reports used different versions; None where a report did not use it."""

    old: str | None
    """The version in the old report."""
    new: str | None
    """The version in the new report."""


@dataclass(frozen=True, slots=True)
class ReportDiff:
    """What changed from one report to the next."""

    actual: SideChange
    """The tokenizer under test, in both reports."""
    expected: SideChange
    """The reference, in both reports."""
    versions: Mapping[str, VersionChange]
    """The libraries whose versions differ, by name."""
    old_cases: Count
    """How many cases the old report has."""
    new_cases: Count
    """The number of cases in the new report."""
    changes: tuple[CaseChange, ...]
    """Ordered by kind, then as the cases ran."""
    differences: tuple[DifferenceChange, ...] = ()
    """How the differences between the tokenizers themselves changed, ordered by kind."""
    not_compared: tuple[str, ...] = ()
    """What about the tokenizers could not be compared now, and why; without what could not be compared before."""


def changes_of(diff: ReportDiff, kind: CaseChangeKind) -> list[CaseChange]:
    """Return the changes of one kind."""
    return [change for change in diff.changes if change.kind is kind]


def count_differences(diff: ReportDiff, kind: DifferenceChangeKind) -> int:
    """Count the changes of one kind in the differences between the tokenizers themselves."""
    return sum(change.kind is kind for change in diff.differences)


def report_diff_exit_code(diff: ReportDiff) -> int:
    """Return 1 if a case or a difference fails that did not fail before, or was not there, else 0."""
    has_failing_case = any(change.kind in {CaseChangeKind.FAILED, CaseChangeKind.NEW_FAILED} for change in diff.changes)
    return int(has_failing_case or any(change.kind is DifferenceChangeKind.FAILED for change in diff.differences))


def summarize_report_diff(diff: ReportDiff) -> Mapping[str, object]:
    """Return the `summary` of the JSON report."""
    counts = {str(kind): len(changes_of(diff, kind)) for kind in CaseChangeKind}
    differences = {str(kind): count_differences(diff, kind) for kind in DifferenceChangeKind}
    return {"exit_code": report_diff_exit_code(diff), **counts, "differences": differences}
