"""What changed between two reports as issues, for CI systems."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.render.ci import CiReport
from tokverify.render.ci.issue import Check, Issue, Level, issue_of
from tokverify.render.report_diff.describe import change_texts, verdict
from tokverify.render.run.differences import difference_line
from tokverify.report.report_diff import CaseChangeKind, DifferenceChangeKind, ReportDiff, report_diff_exit_code
from tokverify.text.visible import visible_message

_CASE_CHECKS = {
    CaseChangeKind.FAILED: Check("case-failed", "failed", "A case passed before and fails now.", Level.ERROR),
    CaseChangeKind.NEW_FAILED: Check("case-new-failed", "new and failing", "A new case fails.", Level.ERROR),
    CaseChangeKind.CHANGED: Check("case-changed", "changed", "A case fails differently than before.", Level.WARNING),
    CaseChangeKind.FIXED: Check("case-fixed", "fixed", "A case failed before and matches now.", Level.NOTE),
    CaseChangeKind.STATUS: Check("case-status", "other status", "A case has another status.", Level.NOTE),
    CaseChangeKind.IDS: Check("case-ids", "other ids", "A case matches as before, with other ids.", Level.NOTE),
    CaseChangeKind.NEW: Check("case-new", "new", "A case was not there before.", Level.NOTE),
    CaseChangeKind.VANISHED: Check("case-vanished", "vanished", "A case is not there any more.", Level.NOTE),
}
_DIFFERENCE = Check("difference-failed", "difference", "A difference between the tokenizers fails now.", Level.ERROR)
_NOT_COMPARED = Check("not-compared", "not compared", "Something can no longer be compared.", Level.WARNING)


def to_ci_report(diff: ReportDiff) -> CiReport:
    """Return what CI systems show of two reports."""
    return CiReport(
        issues=_issues(diff),
        checks=(*_CASE_CHECKS.values(), _DIFFERENCE, _NOT_COMPARED),
        verdict=verdict(diff),
        exit_code=report_diff_exit_code(diff),
        properties={"model": diff.actual.new.source, "reference": diff.expected.new.source},
    )


def _issues(diff: ReportDiff) -> Iterator[Issue]:
    model = diff.actual.new
    for change in diff.changes:
        check = _CASE_CHECKS[change.kind]
        yield Issue(
            check=check.id,
            level=check.level,
            title=f"{check.name}: {visible_message(change.case)}",
            message="\n".join(map(visible_message, change_texts(change))) or check.summary,
            path=model.source,
            key=f"{model.name}\0{change.case}",
        )
    for found in diff.differences:
        if found.kind is DifferenceChangeKind.FAILED:
            line = visible_message(difference_line(found.difference))
            yield issue_of(_DIFFERENCE, [line], path=model.source, key=f"{model.name}\0{found.difference.digest}")
    for reason in diff.not_compared:
        yield issue_of(_NOT_COMPARED, [visible_message(reason)], path=model.source, key=f"{model.name}\0{reason}")
