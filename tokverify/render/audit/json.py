"""What an audit found as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.render.json import header, write
from tokverify.render.severity import NOUNS

if TYPE_CHECKING:
    from tokverify.audit.waiver import Waiver
    from tokverify.report.audit import AuditReport
    from tokverify.report.finding import Finding


def render(report: AuditReport) -> str:
    """Write an audit as JSON; equal audits give equal text."""
    document = {
        **header("audit"),
        "versions": dict(sorted(report.versions.items())),
        "options": dict(report.options),
        "model": report.source,
        "fingerprint": report.fingerprint,
        "reference": report.reference,
        "reference_sha256": report.reference_sha256,
        "caveat": report.caveat,
        "summary": {
            "exit_code": report.exit_code,
            "rules": len(report.codes),
            **{severity.name.lower(): report.count(severity) for severity in NOUNS},
            "waived": len(report.waived),
            "not_evaluated": len(report.not_evaluated),
        },
        "codes": list(report.codes),
        "findings": list(map(_finding, report.findings)),
        "waived": [{"finding": _finding(waived.finding), "waiver": _waiver(waived.waiver)} for waived in report.waived],
        "unused_waivers": list(map(_waiver, report.unused_waivers)),
        "not_evaluated": [
            {"code": rule.code, "name": rule.name, "reason": rule.reason} for rule in report.not_evaluated
        ],
    }
    return write(document)


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.name,
        "message": finding.message,
        "ids": list(finding.ids),
        "keys": list(finding.keys),
        "repair": finding.repair,
    }


def _waiver(waiver: Waiver) -> dict[str, object]:
    return {"code": waiver.code, "place": waiver.place, "reason": waiver.reason}
