"""AuditReport: the result of `tokverify audit`, as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tokverify.report.fields import Digest, RuleCode, RuleName
from tokverify.report.finding import Finding, Severity
from tokverify.report.known_difference import KnownDifference
from tokverify.report.run_check import check_repair


@dataclass(frozen=True, slots=True)
class ManualSection:
    """A section of a rule's manual."""

    heading: str
    """Such as `Example`."""
    text: str
    """Markdown in one line."""


@dataclass(frozen=True, slots=True)
class RuleManual:
    """A rule and its manual."""

    code: RuleCode
    """Such as `TV101`."""
    name: RuleName
    """Such as `byte-token`."""
    severity: Severity
    """The highest severity of its findings."""
    summary: str
    """One sentence."""
    sections: tuple[ManualSection, ...] = ()
    """The manual, section by section."""


@dataclass(frozen=True, slots=True)
class WaivedFinding:
    """A finding, and the entry that accepts it."""

    finding: Finding
    """The finding."""
    waiver: KnownDifference
    """The entry."""


@dataclass(frozen=True, slots=True)
class NotEvaluated:
    """A rule that could not be evaluated."""

    code: RuleCode
    """The code of the rule."""
    name: RuleName
    """The name of the rule."""
    reason: str
    """Why not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """Everything an audit found."""

    findings: tuple[Finding, ...]
    """Ordered by severity, the highest first, then by code."""
    waived: tuple[WaivedFinding, ...] = ()
    """Findings that are accepted as known."""
    unused_waivers: tuple[KnownDifference, ...] = ()
    """The entries for this model and an evaluated rule that accepted nothing."""
    not_evaluated: tuple[NotEvaluated, ...] = ()
    """Rules about which nothing is known, with reasons."""
    rules: tuple[RuleManual, ...] = ()
    """All selected rules."""
    source: str = ""
    """The model's file."""
    fingerprint: Digest | None = None
    """The fingerprint of the tokenizer; None if it cannot be loaded."""
    reference: str | None = None
    """Where the reference comes from; None without one."""
    reference_sha256: Digest | None = None
    """The digest of the reference, if it is a file."""
    caveat: str = ""
    """What the file needs, such as a build of llama.cpp, and what the reference cannot prove."""
    fail_on: Severity | None = Severity.ERROR
    """The lowest severity that makes the audit fail; None if no finding does."""
    options: Mapping[str, object] = field(default_factory=dict)
    """What the user asked for."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """The versions of tokverify and the libraries involved."""


def count_severity(report: AuditReport, severity: Severity) -> int:
    """Count the findings of a severity, without those that are accepted."""
    return sum(finding.severity is severity for finding in report.findings)


def audit_exit_code(report: AuditReport) -> int:
    """Return 1 if a finding has at least the severity `fail_on`, else 0."""
    return int(any(fails_audit(finding.severity, report) for finding in report.findings))


def fails_audit(severity: Severity, report: AuditReport) -> bool:
    """Check whether findings of a severity make an audit fail."""
    return report.fail_on is not None and severity >= report.fail_on


def summarize_audit(report: AuditReport) -> Mapping[str, object]:
    """Return the `summary` of the JSON report."""
    return {
        "exit_code": audit_exit_code(report),
        "rules": len(report.rules),
        **{severity.name.lower(): count_severity(report, severity) for severity in reversed(Severity)},
        "waived": len(report.waived),
        "not_evaluated": len(report.not_evaluated),
    }


def check_audit(report: AuditReport, path: str) -> Iterator[str]:
    """Yield every inconsistency as `path: problem`; `path` is where the report stands in its document."""
    for index, finding in enumerate(report.findings):
        yield from check_repair(finding.remedy, f"{path}.findings[{index}].remedy")
    for index, waived in enumerate(report.waived):
        yield from check_repair(waived.finding.remedy, f"{path}.waived[{index}].finding.remedy")
