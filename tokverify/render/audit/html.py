"""Write the page of an audit: each finding with the manual of its rule."""

from __future__ import annotations

from tokverify.render.audit.verdict import list_ranges, verdict
from tokverify.render.html.page import page, version_list
from tokverify.report.audit import AuditReport, audit_exit_code, count_severity, fails_audit
from tokverify.report.diagnosis import command_line
from tokverify.report.finding import Finding, Severity
from tokverify.text.visible import visible_message


def render(report: AuditReport) -> str:
    """Write a page that contains the whole audit."""
    exit_code = audit_exit_code(report)
    found = "at least one finding" if exit_code else "no finding"
    first, _, others = verdict(report).partition("; ")
    findings = [_describe_finding(finding, report) for finding in report.findings]
    for waived in report.waived:
        reason = f"{waived.waiver.reason} ({waived.waiver.place})"
        findings.append(_describe_finding(waived.finding, report, reason))
    context = {
        "title": f"{visible_message(report.source)}: audit",
        "outcome": "Failed" if exit_code else "Passed",
        "exit_code": exit_code,
        "exit_meaning": f"{found} has severity {' or '.join(_failing_severities(report))}",
        "verdict": first,
        "reservations": others,
        "sides": _describe_sides(report),
        "versions": version_list(report.versions),
        "counts": [(severity.name, count_severity(report, severity)) for severity in reversed(Severity)],
        "findings": findings,
        "unused_waivers": [
            tuple(map(visible_message, (waiver.code, waiver.reason, waiver.place))) for waiver in report.unused_waivers
        ],
        "not_evaluated": [
            tuple(map(visible_message, (rule.code, rule.name, rule.reason))) for rule in report.not_evaluated
        ],
    }
    return page("audit/page.html.jinja", ["html/page.js", "html/findings.js"], context)


def _failing_severities(report: AuditReport) -> list[str]:
    return [severity.name for severity in reversed(Severity) if fails_audit(severity, report)]


def _describe_sides(report: AuditReport) -> list[tuple[str, dict[str, object]]]:
    digests = [("fingerprint", report.fingerprint)] if report.fingerprint else []
    sides = [("model", _describe_side(report.source, digests))]
    if report.reference is not None:
        digests = [("sha256", report.reference_sha256)] if report.reference_sha256 else []
        sides.append(("reference", _describe_side(report.reference, digests, report.caveat)))
    return sides


def _describe_side(name: str, digests: list[tuple[str, str]], caveat: str = "") -> dict[str, object]:
    shown = [(label, visible_message(digest)) for label, digest in digests]
    empty = {"source": "", "reason": "", "settings": [], "overrides": []}
    return empty | {"name": visible_message(name), "caveat": visible_message(caveat), "digests": shown}


def _describe_finding(finding: Finding, report: AuditReport, waiver: str = "") -> dict[str, object]:
    rule = next((rule for rule in report.rules if rule.code == finding.code), None)
    sections = [(section.heading, section.text) for section in rule.sections] if rule else []
    return {
        "severity": finding.severity.name,
        "code": visible_message(finding.code),
        "name": visible_message(finding.name),
        "message": visible_message(finding.message),
        "ids": list_ranges(finding.ids),
        "keys": list(map(visible_message, finding.keys)),
        "commands": [visible_message(command_line(command)) for command in finding.remedy.commands],
        "remark": visible_message(finding.remedy.remark),
        "waiver": visible_message(waiver),
        "summary": visible_message(rule.summary) if rule else "",
        "manual": [tuple(map(visible_message, section)) for section in sections],
    }
