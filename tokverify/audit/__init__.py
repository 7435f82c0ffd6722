"""Audit: static rules on a GGUF file's tokenizer, alone or against its reference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tokverify.audit.subject import NotEvaluatedError
from tokverify.errors import TokverifyError
from tokverify.report.audit import AuditReport, NotEvaluated, Waived
from tokverify.text.wording import shortened

if TYPE_CHECKING:
    from tokverify.audit.rule import Rule
    from tokverify.audit.subject import Subject
    from tokverify.audit.waiver import Waiver
    from tokverify.report.finding import Finding

__all__ = ["AuditReport", "audit"]


def audit(subject: Subject, rules: Iterable[Rule], waivers: Iterable[Waiver] = ()) -> AuditReport:
    """Check `subject` by each of `rules`, and set aside the findings that `waivers` accept.

    What a rule needs and does not get is noted in the report; the findings are ordered by severity, then by code.
    """
    rules = list(rules)
    found: list[Finding] = []
    not_evaluated: list[NotEvaluated] = []
    for rule in rules:
        try:
            found.extend(rule.findings(subject))
        except (NotEvaluatedError, TokverifyError) as error:
            not_evaluated.append(NotEvaluated(rule.code, rule.name, shortened(str(error))))
    found.sort(key=lambda finding: finding.code)
    found.sort(key=lambda finding: finding.severity, reverse=True)
    return _with_waivers(subject, found, list(waivers), tuple(not_evaluated), tuple(rule.code for rule in rules))


def _with_waivers(
    subject: Subject,
    found: Sequence[Finding],
    waivers: Sequence[Waiver],
    not_evaluated: tuple[NotEvaluated, ...],
    codes: tuple[str, ...],
) -> AuditReport:
    concerned = [waiver for waiver in waivers if waiver.code in codes and waiver.concerns(subject)]
    findings, waived, used = [], [], set()
    for finding in found:
        waiver = next((waiver for waiver in concerned if waiver.accepts(finding)), None)
        if waiver is None:
            findings.append(finding)
        else:
            waived.append(Waived(finding, waiver))
            used.add(waiver)
    skipped = {skipped.code for skipped in not_evaluated}
    unused = (waiver for waiver in concerned if waiver not in used and waiver.code not in skipped)
    return AuditReport(
        findings=tuple(findings),
        waived=tuple(waived),
        unused_waivers=tuple(unused),
        not_evaluated=not_evaluated,
        codes=codes,
    )
