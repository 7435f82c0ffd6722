"""What is left to repair as issues, for CI systems."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.render.ci import CiReport
from tokverify.render.ci.issue import Check, Issue, Level, issue_of
from tokverify.render.fix.verdict import describe_check, verdict
from tokverify.report.fix import FixReport, fix_exit_code, remaining
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

_CASES = Check("fix-cases", "cases", "Cases fail in the file that is left.", Level.ERROR)
_DIFFERENCES = Check("fix-differences", "differences", "A comparison finds differences.", Level.ERROR)
_INFERRED = Check("fix-inferred", "not verified", "Tokens were changed by inference.", Level.ERROR)
_OTHER = Check("fix-other-reference", "other reference", "Another tokenizer contradicts the reference.", Level.WARNING)


def to_ci_report(report: FixReport) -> CiReport:
    """Return what CI systems show of a repair: what is wrong with the repaired file, or else with the original."""
    return CiReport(
        issues=_issues(report),
        checks=(_CASES, _DIFFERENCES, _INFERRED, _OTHER),
        verdict=verdict(report),
        exit_code=fix_exit_code(report),
        skipped=[f"not declared by the reference: {visible_message(what)}" for what in report.not_compared],
        properties={"model": report.source, "repaired": report.target},
    )


def _issues(report: FixReport) -> Iterator[Issue]:
    left = report.after or report.before
    if left.fail:
        refusal = [f"cannot be verified: {visible_message(left.refusal)}"] if left.refusal else []
        verb = "fails" if left.fail == 1 else "fail"
        yield _issue(_CASES, [f"{plural(left.fail, 'case')} {verb}", *refusal], report)
    for check in remaining(report):
        yield _issue(_DIFFERENCES, [describe_check(check, is_written=report.after is not None)], report)
    if report.repair and report.repair.inferred_tokens and report.after:
        count = plural(report.repair.inferred_tokens, "token")
        yield _issue(_INFERRED, [f"{count} inferred from similar tokens and not verified"], report)
    for other in report.others:
        yield _issue(_OTHER, [f"{visible_message(other.source)} disagrees with the reference"], report)


def _issue(check: Check, lines: list[str], report: FixReport) -> Issue:
    return issue_of(check, lines, path=report.source, key=f"{report.source}\0{lines[0]}")
