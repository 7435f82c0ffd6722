"""The output formats of `tokverify audit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.formats.presentation import CI_FORMATS, Presentation, bound, renderers
from tokverify.formats.severity import NOUNS
from tokverify.wording import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokverify.audit.report import AuditReport
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


AUDIT_FORMATS: Mapping[str, Callable[[AuditReport, RenderOptions], str]] = renderers(
    {
        "table": "tokverify.formats.audit.table:render",
        "json": "tokverify.formats.audit.json:render",
        "markdown": "tokverify.formats.audit.markdown:render",
        "html": "tokverify.formats.html.audit:render",
        **dict.fromkeys(CI_FORMATS, "tokverify.formats.audit.issue:tell"),
    }
)
"""Name -> how an audit is written."""


def present(report: AuditReport) -> Presentation:
    """Return how an audit is written."""
    return Presentation(bound(AUDIT_FORMATS, report), verdict(report), report.exit_code)
