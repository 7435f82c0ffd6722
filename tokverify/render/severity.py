"""Names and styles of severities."""

from __future__ import annotations

from collections.abc import Mapping

from tokverify.render.document import Style
from tokverify.report.finding import Severity

NOUNS: Mapping[Severity, str] = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFO: "informational finding",
}
"""Severity -> what to call a finding, in the order of summaries."""

SEVERITY_STYLES: Mapping[Severity, Style] = {
    Severity.ERROR: Style.BAD,
    Severity.WARNING: Style.WARNING,
    Severity.INFO: Style.STRONG,
}
"""Severity -> the style of its name."""
