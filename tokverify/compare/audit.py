"""Audit the tokenizer of a GGUF file with static rules, alone or against its reference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from tokverify.compare.subject import NotEvaluatedError, Subject
from tokverify.errors import GoneError, TokverifyError
from tokverify.report.audit import AuditReport, NotEvaluated, WaivedFinding, Waiver
from tokverify.report.finding import Finding
from tokverify.text.wording import truncate

if TYPE_CHECKING:
    from tokverify.compare.rule import Rule

__all__ = ["AuditReport", "audit"]


def audit(subject: Subject, rules: Iterable[Rule], waivers: Iterable[Waiver] = ()) -> AuditReport:
    """Evaluate rules on `subject`, and separate the findings that waivers accept.

    The report lists the rules that could not be evaluated. Its findings are ordered by severity, then by code.
    """
    rules = list(rules)
    findings, not_evaluated = _evaluate(subject, rules)
    selected = {rule.code for rule in rules}
    evaluated = selected - {skipped.code for skipped in not_evaluated}
    relevant = [waiver for waiver in waivers if waiver.code in selected and _concerns(waiver, subject)]
    left, waived = _apply_waivers(findings, relevant)
    used = {accepted.waiver for accepted in waived}
    return AuditReport(
        findings=tuple(left),
        waived=tuple(waived),
        unused_waivers=tuple(waiver for waiver in relevant if waiver not in used and waiver.code in evaluated),
        not_evaluated=tuple(not_evaluated),
        rules=tuple(rule.manual for rule in rules),
    )


def _evaluate(subject: Subject, rules: Iterable[Rule]) -> tuple[list[Finding], list[NotEvaluated]]:
    """Return the findings of the rules, and the rules that could not be evaluated."""
    findings: list[Finding] = []
    not_evaluated: list[NotEvaluated] = []
    for rule in rules:
        count = len(findings)
        try:
            findings.extend(rule.findings(subject))
        except GoneError:
            raise
        except (NotEvaluatedError, TokverifyError) as error:
            extent = "evaluated only in part: " if len(findings) > count else ""
            not_evaluated.append(NotEvaluated(rule.code, rule.name, f"{extent}{truncate(str(error))}"))
    findings.sort(key=lambda finding: finding.code)
    findings.sort(key=lambda finding: finding.severity, reverse=True)
    return findings, not_evaluated


def apply_waivers(report: AuditReport, waivers: Sequence[Waiver]) -> AuditReport:
    """Return a report in which waivers that concern its model accept more findings."""
    left, waived = _apply_waivers(report.findings, waivers)
    return replace(report, findings=tuple(left), waived=(*report.waived, *waived))


def _apply_waivers(findings: Sequence[Finding], waivers: Sequence[Waiver]) -> tuple[list[Finding], list[WaivedFinding]]:
    """Return the findings that no waiver accepts, and those that one does."""
    left: list[Finding] = []
    waived: list[WaivedFinding] = []
    for finding in findings:
        waiver = next((waiver for waiver in waivers if accepts(waiver, finding)), None)
        if waiver is None:
            left.append(finding)
        else:
            waived.append(WaivedFinding(finding, waiver))
    return left, waived


def _concerns(waiver: Waiver, subject: Subject) -> bool:
    """Check whether a waiver applies to this model."""
    names = (subject.name, subject.spec.general.get("name", ""))
    if waiver.model is not None and not any(fnmatchcase(name, waiver.model) for name in names):
        return False
    return waiver.fingerprint is None or (subject.fingerprint or "").startswith(waiver.fingerprint)


def accepts(waiver: Waiver, finding: Finding) -> bool:
    """Check whether a waiver that applies to the model accepts a finding."""
    if finding.code != waiver.code:
        return False
    if waiver.message is not None and not fnmatchcase(finding.message, waiver.message):
        return False
    return waiver.ids is None or (bool(finding.ids) and all(_contains(waiver, id) for id in finding.ids))


def _contains(waiver: Waiver, id: int) -> bool:
    return any(first <= id <= last for first, last in waiver.ids or ())
