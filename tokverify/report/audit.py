"""AuditReport: what an audit found, as data; `tokverify.render.audit` turns it into text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tokverify.report.finding import Severity

if TYPE_CHECKING:
    from tokverify.audit.waiver import Waiver
    from tokverify.report.finding import Finding


@dataclass(frozen=True, slots=True)
class NotEvaluated:
    """A rule that did not get what it needs, and why."""

    code: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Waived:
    """A finding that is accepted, and by what."""

    finding: Finding
    waiver: Waiver


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """Everything an audit found; findings are ordered by severity, then by code.

    `codes` are those of all rules that were selected. `unused_waivers` are those that are about this model and a rule
    that was evaluated, and accepted nothing. `source` and `reference` say what was looked at, `caveat` what the
    reference cannot prove. `fail_on` is the least severity that makes the audit fail. `fingerprint` is that of the
    tokenizer, None where it cannot be loaded.
    """

    findings: tuple[Finding, ...]
    waived: tuple[Waived, ...] = ()
    unused_waivers: tuple[Waiver, ...] = ()
    not_evaluated: tuple[NotEvaluated, ...] = ()
    codes: tuple[str, ...] = ()
    source: str = ""
    fingerprint: str | None = None
    reference: str | None = None
    reference_sha256: str | None = None
    caveat: str = ""
    fail_on: Severity = Severity.ERROR
    options: Mapping[str, object] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    def count(self, severity: Severity) -> int:
        """Count the findings of this severity, those accepted by a waiver left out."""
        return sum(finding.severity is severity for finding in self.findings)

    @property
    def exit_code(self) -> int:
        """1 if a finding is at least as bad as `fail_on`, else 0."""
        return int(any(finding.severity >= self.fail_on for finding in self.findings))
