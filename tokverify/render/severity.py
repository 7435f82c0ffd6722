"""How the severity of a finding is named and drawn."""

from __future__ import annotations

from collections.abc import Mapping

from tokverify.report.finding import Severity

NOUNS: Mapping[Severity, str] = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "hint"}
"""Severity -> what a finding of it is called, in the order in which they are counted."""

STYLES: Mapping[Severity, str] = {
    Severity.ERROR: "bold red",
    Severity.WARNING: "bold yellow",
    Severity.INFO: "bold",
}
"""Severity -> how the `table` format draws it."""
