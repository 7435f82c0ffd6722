"""Audit the tokenizer of a GGUF file with static rules, alone or against its reference."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from tokverify.compare.judge import accepts, concerns, judge_alike
from tokverify.compare.subject import NotEvaluatedError, Subject
from tokverify.errors import GoneError, TokverifyError
from tokverify.report.audit import AuditReport, NotEvaluated, WaivedFinding
from tokverify.report.finding import Finding
from tokverify.text.wording import truncate

if TYPE_CHECKING:
    from datetime import date

    from tokverify.compare.baseline import Baseline
    from tokverify.compare.rule import Rule
    from tokverify.report.known_difference import KnownDifference

__all__ = ["AuditReport", "audit"]


def audit(subject: Subject, rules: Iterable[Rule], baseline: Baseline | None = None) -> AuditReport:
    """Evaluate rules on `subject`, and separate the findings that a baseline accepts.

    The report lists the rules that could not be evaluated. Its findings are ordered by severity, then by code.
    """
    rules = list(rules)
    findings, not_evaluated = _evaluate(subject, rules)
    evaluated = {rule.code for rule in rules} - {skipped.code for skipped in not_evaluated}
    report = AuditReport(
        findings=tuple(findings),
        not_evaluated=tuple(not_evaluated),
        rules=tuple(rule.manual for rule in rules),
    )
    if baseline is None:
        return report
    names = (subject.name, subject.spec.general.get("name", ""))
    relevant = [entry for entry in baseline.entries if concerns(entry, names, subject.fingerprint)]
    accepted = accept_findings(report, relevant, baseline.today)
    used = {each.waiver for each in accepted.waived}
    # An expired entry is not unused, and the finding names it.
    needed = used.union(*(_accepting(relevant, finding) for finding in accepted.findings))
    return replace(
        accepted, unused_waivers=tuple(entry for entry in relevant if entry not in needed and entry.code in evaluated)
    )


def accept_findings(report: AuditReport, entries: Iterable[KnownDifference], today: date) -> AuditReport:
    """Return a report in which the findings that entries accept are set aside."""
    entries = list(entries)
    left: list[Finding] = []
    accepted = list(report.waived)
    for finding in report.findings:
        entry, refusals = judge_alike(_accepting(entries, finding), today)
        if entry is None:
            left.append(replace(finding, refusals=refusals))
        else:
            accepted.append(WaivedFinding(finding, entry))
    return replace(report, findings=tuple(left), waived=tuple(accepted))


def _accepting(entries: Iterable[KnownDifference], finding: Finding) -> list[KnownDifference]:
    """Return the entries that accept a finding, or did until they expired."""
    return [entry for entry in entries if accepts(entry, finding)]


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
