"""Compare two reports: which cases fail now that passed, which are fixed, and what else changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import TypeVar

from tokverify.compare.digest import digest
from tokverify.report.report_diff import (
    CaseChange,
    CaseChangeKind,
    CaseOutcome,
    DifferenceChange,
    DifferenceChangeKind,
    ReportDiff,
    SideChange,
    VersionChange,
)
from tokverify.report.run import CaseResult, Report, Status, other_side
from tokverify.report.side import Side
from tokverify.report.tokenizer_difference import difference_fails

_Change = TypeVar("_Change", CaseChange, DifferenceChange)


def compare_reports(old: Report, new: Report) -> ReportDiff:
    """Compare two reports case by case, by suite/id."""
    not_compared = tuple(reason for reason in new.not_compared if reason not in old.not_compared)
    return ReportDiff(
        actual=_compare_sides(old.actual, new.actual),
        expected=_compare_sides(old.expected, new.expected),
        versions=_compare_versions(old.versions, new.versions),
        old_cases=len(old.results),
        new_cases=len(new.results),
        changes=_worst_first(_find_changes(old, new), CaseChangeKind),
        differences=_worst_first(_compare_differences(old, new, bool(not_compared)), DifferenceChangeKind),
        not_compared=not_compared,
    )


def _worst_first(changes: Iterable[_Change], kinds: type[StrEnum]) -> tuple[_Change, ...]:
    order = list(kinds)
    return tuple(sorted(changes, key=lambda change: order.index(change.kind)))


def _compare_differences(old: Report, new: Report, less_compared: bool) -> Iterator[DifferenceChange]:
    """Yield how the differences between the tokenizers themselves changed."""
    before = {difference.digest: difference for difference in old.differences}
    after = {difference.digest: difference for difference in new.differences}
    for key, current in after.items():
        previous = before.get(key)
        failed = previous is not None and difference_fails(previous, old.fail_on)
        fails = difference_fails(current, new.fail_on)
        if failed != fails:
            yield DifferenceChange(DifferenceChangeKind.FAILED if fails else DifferenceChangeKind.FIXED, current)
        elif previous is None:
            yield DifferenceChange(DifferenceChangeKind.SHOWN, current)
    for key, previous in before.items():
        if key not in after:
            is_fixed = difference_fails(previous, old.fail_on) and not less_compared
            yield DifferenceChange(DifferenceChangeKind.FIXED if is_fixed else DifferenceChangeKind.VANISHED, previous)


def _compare_sides(old: Side, new: Side) -> SideChange:
    return SideChange(_identity(old) == _identity(new), old, new)


def _identity(side: Side) -> tuple[str, str]:
    """Return what determines the ids, as far as a report shows."""
    if side.fingerprint:
        return "fingerprint", side.fingerprint
    return ("sha256", side.sha256) if side.sha256 else ("source", side.source)


def _compare_versions(old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, VersionChange]:
    names = sorted({*old, *new})
    return {name: VersionChange(old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)}


def _find_changes(old: Report, new: Report) -> Iterator[CaseChange]:
    before = {result.case.name: result for result in old.results}
    after = {result.case.name: result for result in new.results}
    for name, result in after.items():
        previous = before.get(name)
        kind = _classify(previous, result)
        if kind:
            yield _change(name, kind, previous, result)
    for name, result in before.items():
        if name not in after:
            yield _change(name, CaseChangeKind.VANISHED, result, None)


def _change(name: str, kind: CaseChangeKind, old: CaseResult | None, new: CaseResult | None) -> CaseChange:
    return CaseChange(name, kind, _is_edited(old, new), _outcome(old), _outcome(new))


def _is_edited(old: CaseResult | None, new: CaseResult | None) -> bool:
    if old is None or new is None:
        return False
    before, after = ((case.text, case.add_special, case.parse_special) for case in (old.case, new.case))
    return before != after


def _outcome(result: CaseResult | None) -> CaseOutcome | None:
    if result is None:
        return None
    divergence = result.difference.first if result.difference else None
    return CaseOutcome(result.status, result.message, divergence, other_side(result), result.actual, result.expected)


def _classify(old: CaseResult | None, new: CaseResult) -> CaseChangeKind | None:
    """Return what happened to a case; None if it came out as before."""
    fails = new.fails
    if old is None:
        return CaseChangeKind.NEW_FAILED if fails else CaseChangeKind.NEW
    failed = old.fails
    if fails and failed:
        return CaseChangeKind.CHANGED if digest(old) != digest(new) else None
    if fails:
        return CaseChangeKind.FAILED
    if new.status is Status.MATCH and (failed or old.known):
        return CaseChangeKind.FIXED
    if old.status is not new.status:
        return CaseChangeKind.STATUS
    return CaseChangeKind.IDS if old.actual != new.actual else None
