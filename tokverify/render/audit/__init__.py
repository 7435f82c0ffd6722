"""Formats of `tokverify audit`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tokverify.render.presentation import Presentation, bind_formats, build_formats
from tokverify.render.severity import NOUNS
from tokverify.report.audit import audit_exit_code, count_severity
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.render import RenderOptions
    from tokverify.render.ci import CiReport
    from tokverify.render.document import Document
    from tokverify.render.presentation import Format
    from tokverify.report.audit import AuditReport


def verdict(report: AuditReport) -> str:
    """Sum up an audit, such as `31 rules: 1 error, 2 hints; 4 rules not evaluated`."""
    counts = {noun: count_severity(report, severity) for severity, noun in NOUNS.items()}
    found = ", ".join(plural(count, noun) for noun, count in counts.items() if count)
    parts = [f"{plural(len(report.rules), 'rule')}: {found or 'no findings'}"]
    if report.waived:
        parts.append(f"{len(report.waived):,} waived")
    if report.unused_waivers:
        parts.append(plural(len(report.unused_waivers), "unused waiver"))
    if report.not_evaluated:
        parts.append(f"{plural(len(report.not_evaluated), 'rule')} not evaluated")
    return "; ".join(parts)


def list_ranges(ids: Iterable[int], limit: int | None = None) -> str:
    """List ids in ascending order as ranges, such as `4-18, 30`; after `limit` ranges, only count the remaining ids."""
    ranges: list[list[int]] = []
    for id in sorted(set(ids)):
        if ranges and id == ranges[-1][1] + 1:
            ranges[-1][1] = id
        else:
            ranges.append([id, id])
    shown = ranges[:limit]
    left_out = sum(last - first + 1 for first, last in ranges[len(shown) :])
    text = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in shown)
    return f"{text} and {left_out:,} more" if left_out else text


def _describe(report: AuditReport, options: RenderOptions) -> Document:
    from tokverify.render.audit.document import describe

    return describe(report, options)


def _render_html(report: AuditReport) -> str:
    from tokverify.render.audit.html import render

    return render(report)


def _to_ci_report(report: AuditReport) -> CiReport:
    from tokverify.render.audit.issue import to_ci_report

    return to_ci_report(report)


AUDIT_FORMATS: Mapping[str, Format[AuditReport]] = build_formats(_describe, html=_render_html, ci=_to_ci_report)
"""Format -> how to write an audit."""


def present(report: AuditReport) -> Presentation:
    """Bind an audit to its formats."""
    return Presentation(bind_formats(AUDIT_FORMATS, report), verdict(report), audit_exit_code(report))
