"""Turn the findings of an audit into issues for CI systems."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.render.audit.manual import first_line, write_rule
from tokverify.render.audit.verdict import verdict
from tokverify.render.ci import CiReport
from tokverify.render.ci.issue import LEVELS, Check, Issue
from tokverify.report.audit import AuditReport, audit_exit_code
from tokverify.report.diagnosis import Repair, command_line
from tokverify.report.finding import Finding
from tokverify.text.visible import visible_message


def to_ci_report(report: AuditReport) -> CiReport:
    """Return what CI systems show of an audit."""
    return CiReport(
        issues=list_issues(report),
        checks=list_checks(report),
        verdict=verdict(report),
        exit_code=audit_exit_code(report),
        skipped=[f"{rule.code} {rule.name} was not evaluated: {rule.reason}" for rule in report.not_evaluated],
        properties={
            "model": report.source,
            "fingerprint": report.fingerprint or "",
            "reference": report.reference or "",
            "caveat": report.caveat,
        },
        evaluated={rule.code for rule in report.rules} - {rule.code for rule in report.not_evaluated},
    )


def list_issues(report: AuditReport) -> Iterator[Issue]:
    """Yield the findings of an audit, then those that are waived."""
    yield from (_to_issue(finding, report) for finding in report.findings)
    for waived in report.waived:
        yield _to_issue(waived.finding, report, f"{waived.waiver.reason} ({waived.waiver.place})")


def list_checks(report: AuditReport) -> list[Check]:
    """Return the rules that an audit selected, with their manuals; and a stand-in for those of other findings."""
    found = [*report.findings, *(waived.finding for waived in report.waived)]
    checks = {
        finding.code: Check(finding.code, finding.name, "The report has no manual for it.", LEVELS[finding.severity])
        for finding in found
    }
    checks |= {
        rule.code: Check(rule.code, rule.name, first_line(rule), LEVELS[rule.severity], write_rule(rule))
        for rule in report.rules
    }
    return sorted(checks.values(), key=lambda check: check.id)


def _to_issue(finding: Finding, report: AuditReport, accepted: str | None = None) -> Issue:
    lines = [finding.message, *_list_repair(finding.remedy), accepted and f"waived: {accepted}"]
    return Issue(
        check=finding.code,
        level=LEVELS[finding.severity],
        title=f"{finding.code} {finding.name}",
        message="\n".join(visible_message(line) for line in lines if line),
        path=report.source,
        key=f"{report.source}\0{finding.message}",
        accepted=None if accepted is None else visible_message(accepted),
    )


def _list_repair(remedy: Repair) -> Iterator[str]:
    """Yield the lines of a repair; each command has a line of its own."""
    lead = "repair: "
    for line in [*map(command_line, remedy.commands), remedy.remark]:
        if line:
            yield f"{lead}{line}"
            lead = ""
