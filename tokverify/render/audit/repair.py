"""How a finding can be repaired, with the files of its audit named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.report.diagnosis import Command, Repair
from tokverify.text.command_line import fill_in, fixed_name

if TYPE_CHECKING:
    from tokverify.report.audit import AuditReport
    from tokverify.report.finding import Finding

_REMARKS = {
    "tokverify fix": "goes by what the shipped cases show, or yours with --cases",
    "gguf-new-metadata": "",
    "gguf-set-metadata": "changes the file itself",
}
"""How commands begin -> what there is to know of them."""

_SAME_FILE = frozenset({"llama.cpp", "rebuilt"})
"""References that read the model's own file, and so cannot tell what it should hold."""


def repair(finding: Finding, report: AuditReport) -> Repair:
    """Return the command that repairs a finding, as far as its files are known; or else what its rule says."""
    for beginning, remark in _REMARKS.items():
        if finding.repair.startswith(f"{beginning} "):
            model = report.source or None
            words = fill_in(finding.repair, model, fixed_name(model), _reference(report))
            return Repair((Command("repair", words),), remark)
    return Repair(remark=finding.repair)


def _reference(report: AuditReport) -> str | None:
    location = report.options.get("reference")
    return location if isinstance(location, str) and location not in _SAME_FILE else None
