"""The page of an audit: each finding with the manual of its rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.render.audit import verdict
from tokverify.render.audit.id_range import id_ranges
from tokverify.render.audit.manual import manual_parts
from tokverify.render.audit.repair import repair
from tokverify.render.html.page import page, version_list
from tokverify.report.finding import Severity
from tokverify.text.visible import visible_message

if TYPE_CHECKING:
    from tokverify.report.audit import AuditReport
    from tokverify.report.finding import Finding


def render(report: AuditReport) -> str:
    """Write a page that holds the whole audit."""
    found = "something" if report.exit_code else "nothing"
    first, _, others = verdict(report).partition("; ")
    context = {
        "title": f"{visible_message(report.source)}: audit",
        "outcome": "Failed" if report.exit_code else "Passed",
        "exit_code": report.exit_code,
        "exit_meaning": f"{found} found as bad as {report.fail_on.name} or worse",
        "verdict": first,
        "reservations": others,
        "sides": _sides(report),
        "versions": version_list(report.versions),
        "counts": [(severity.name, report.count(severity)) for severity in reversed(Severity)],
        "findings": [
            *(_finding(finding, report) for finding in report.findings),
            *(
                _finding(waived.finding, report, f"{waived.waiver.reason} ({waived.waiver.place})")
                for waived in report.waived
            ),
        ],
        "unused_waivers": [
            (w.code, visible_message(w.reason), visible_message(w.place)) for w in report.unused_waivers
        ],
        "not_evaluated": [
            (rule.code, visible_message(rule.name), visible_message(rule.reason)) for rule in report.not_evaluated
        ],
    }
    return page("audit.html.jinja", ["page.js", "audit.js"], context)


def _sides(report: AuditReport) -> list[tuple[str, dict[str, object]]]:
    digests = [("fingerprint", report.fingerprint)] if report.fingerprint else []
    sides = [("model", _side(report.source, digests))]
    if report.reference is not None:
        digests = [("sha256", report.reference_sha256)] if report.reference_sha256 else []
        sides.append(("reference", _side(report.reference, digests, report.caveat)))
    return sides


def _side(name: str, digests: list[tuple[str, str]], caveat: str = "") -> dict[str, object]:
    shown = [(label, visible_message(digest)) for label, digest in digests]
    empty = {"source": "", "reason": "", "settings": [], "overrides": []}
    return empty | {"name": visible_message(name), "caveat": visible_message(caveat), "digests": shown}


def _finding(finding: Finding, report: AuditReport, waiver: str = "") -> dict[str, object]:
    from tokverify.audit.rules import RULES

    told = repair(finding, report)
    summary, parts = manual_parts(RULES[finding.code]) if finding.code in RULES else ("", [])
    return {
        "severity": finding.severity.name,
        "code": finding.code,
        "name": visible_message(finding.name),
        "message": visible_message(finding.message),
        "ids": id_ranges(finding.ids),
        "keys": list(map(visible_message, finding.keys)),
        "commands": [visible_message(str(command)) for command in told.commands],
        "remark": visible_message(told.remark),
        "waiver": visible_message(waiver),
        "summary": summary,
        "manual": parts,
    }
