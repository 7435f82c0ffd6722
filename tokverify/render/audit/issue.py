"""The findings of an audit as issues with a place, for the formats that CI systems read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.audit.rules import RULES
from tokverify.render.audit import verdict
from tokverify.render.audit.manual import explain
from tokverify.render.audit.repair import repair
from tokverify.render.ci import CiReport
from tokverify.render.ci.issue import LEVELS, Check, Issue
from tokverify.text.visible import visible_message

if TYPE_CHECKING:
    from tokverify.report.audit import AuditReport
    from tokverify.report.diagnosis import Repair
    from tokverify.report.finding import Finding


def to_ci_report(report: AuditReport) -> CiReport:
    """Return what CI systems are told of an audit."""
    return CiReport(
        issues=audit_issues(report),
        checks=audit_checks(report),
        verdict=verdict(report),
        exit_code=report.exit_code,
        skipped=[f"{rule.code} {rule.name} was not evaluated: {rule.reason}" for rule in report.not_evaluated],
    )


def audit_issues(report: AuditReport) -> Iterator[Issue]:
    """Yield the findings of an audit, then those that are waived."""
    yield from (_finding_issue(finding, report) for finding in report.findings)
    for waived in report.waived:
        yield _finding_issue(waived.finding, report, f"{waived.waiver.reason} ({waived.waiver.place})")


def audit_checks(report: AuditReport) -> list[Check]:
    """Return the rules that an audit selected, with their manuals.

    A saved report may be of a tokverify that has other rules; of those no more is known than what they found.
    """
    found = [*report.findings, *(waived.finding for waived in report.waived)]
    known = [RULES[code] for code in {*report.codes, *(finding.code for finding in found)} if code in RULES]
    checks = {
        finding.code: Check(finding.code, finding.name, "A rule of another tokverify.", LEVELS[finding.severity])
        for finding in found
    }
    checks |= {
        rule.code: Check(rule.code, rule.name, rule.manual.partition("\n")[0], LEVELS[rule.severity], explain(rule))
        for rule in known
    }
    return sorted(checks.values(), key=lambda check: check.id)


def _finding_issue(finding: Finding, report: AuditReport, accepted: str | None = None) -> Issue:
    lines = [finding.message, *_repair(repair(finding, report)), accepted and f"waived: {accepted}"]
    return Issue(
        check=finding.code,
        level=LEVELS[finding.severity],
        title=f"{finding.code} {finding.name}",
        message="\n".join(visible_message(line) for line in lines if line),
        path=report.source,
        key=f"{report.source}\0{finding.message}",
        accepted=None if accepted is None else visible_message(accepted),
    )


def _repair(told: Repair) -> Iterator[str]:
    """Yield lines, of which a command has one for itself."""
    lead = "repair: "
    for line in [*map(str, told.commands), told.remark]:
        if line:
            yield f"{lead}{line}"
            lead = ""
