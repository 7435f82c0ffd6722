"""The output formats of `tokverify audit`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tokverify.formats.ci import Told, ci_formats
from tokverify.formats.presentation import Presentation, bound
from tokverify.formats.severity import NOUNS
from tokverify.wording import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokverify.audit.finding import Finding
    from tokverify.audit.report import AuditReport
    from tokverify.audit.waiver import Waiver
    from tokverify.formats import RenderOptions


def verdict(report: AuditReport) -> str:
    """Sum up an audit, such as `31 rules: 1 error, 2 hints; 4 rules not evaluated`."""
    counts = [plural(report.count(severity), noun) for severity, noun in NOUNS.items() if report.count(severity)]
    parts = [f"{plural(len(report.codes), 'rule')}: {', '.join(counts) or 'nothing found'}"]
    if report.waived:
        parts.append(f"{len(report.waived):,} waived")
    if report.unused_waivers:
        parts.append(plural(len(report.unused_waivers), "unused waiver"))
    if report.not_evaluated:
        parts.append(f"{plural(len(report.not_evaluated), 'rule')} not evaluated")
    return "; ".join(parts)


def _table(report: AuditReport, options: RenderOptions) -> str:
    from tokverify.formats.audit_table import render

    return render(report, options)


def _json(report: AuditReport, options: RenderOptions) -> str:  # noqa: ARG001 - the signature of every format
    from tokverify.formats.json import header, write

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


def _markdown(report: AuditReport, options: RenderOptions) -> str:
    from tokverify.formats.audit_markdown import render

    return render(report, options)


def _html(report: AuditReport, options: RenderOptions) -> str:  # noqa: ARG001 - likewise
    from tokverify.formats.html.audit import render

    return render(report)


def _told(report: AuditReport) -> Told:
    from tokverify.formats.issue import audit_checks, audit_issues

    return Told(
        issues=audit_issues(report),
        checks=audit_checks(report),
        verdict=verdict(report),
        exit_code=report.exit_code,
        skipped=[f"{rule.code} {rule.name} was not evaluated: {rule.reason}" for rule in report.not_evaluated],
    )


def job_summary(report: AuditReport, limit: int) -> str:
    """Write what GitHub shows of a step, in at most `limit` bytes."""
    from tokverify.formats import RenderOptions
    from tokverify.formats.audit_markdown import render

    return render(report, RenderOptions(), limit)


AUDIT_FORMATS: Mapping[str, Callable[[AuditReport, RenderOptions], str]] = {
    "table": _table,
    "json": _json,
    "markdown": _markdown,
    "html": _html,
    **ci_formats(_told),
}
"""Name -> how an audit is written."""


def present(report: AuditReport) -> Presentation:
    """Return how an audit is written."""
    return Presentation(bound(AUDIT_FORMATS, report), verdict(report), report.exit_code, partial(job_summary, report))
