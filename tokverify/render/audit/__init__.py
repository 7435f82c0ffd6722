"""The output formats of `tokverify audit`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tokverify.render.presentation import CI_FORMATS, Presentation, bind_formats, renderers
from tokverify.render.severity import NOUNS
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.render import RenderOptions
    from tokverify.report.audit import AuditReport


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
        "table": "tokverify.render.audit.table:render",
        "json": "tokverify.render.audit.json:render",
        "markdown": "tokverify.render.audit.markdown:render",
        "html": "tokverify.render.audit.html:render",
        **dict.fromkeys(CI_FORMATS, "tokverify.render.audit.issue:to_ci_report"),
    }
)
"""Name -> how an audit is written."""


def present(report: AuditReport) -> Presentation:
    """Return how an audit is written."""
    return Presentation(bind_formats(AUDIT_FORMATS, report), verdict(report), report.exit_code)
