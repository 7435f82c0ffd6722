"""Apply the static rules to a model whose reference is rebuilt from the same data, and so cannot contradict it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tokverify.compare.audit import audit
from tokverify.compare.checks import RULES
from tokverify.compare.digest import make_difference
from tokverify.compare.subject import Subject
from tokverify.compare.tokenizer_comparison import sort_by_severity
from tokverify.report.audit import AuditReport
from tokverify.report.finding import WARNING
from tokverify.report.run import Report
from tokverify.report.tokenizer_difference import Aspect, TokenizerDifference

if TYPE_CHECKING:
    from tokverify.compare.opened import OpenedModel


def add_rule_findings(report: Report, model: OpenedModel) -> Report:
    """Add the errors and warnings of the static rules to a report, as differences."""
    declaration = model.declaration
    # Rules from TV200 on compare with a reference.
    rules = [rule for code, rule in RULES.items() if code < "TV200"]
    found = audit(Subject(declaration, None, model.encoder.name), rules)
    differences = sort_by_severity([*report.differences, *_to_differences(found)])
    return replace(report, differences=tuple(differences), rules=len(rules))


def _to_differences(found: AuditReport) -> Iterator[TokenizerDifference]:
    for finding in found.findings:
        if finding.severity >= WARNING:
            message = f"{finding.code} {finding.name}: {finding.message}"
            facts = [finding.code, finding.message]
            yield make_difference(
                Aspect.RULES,
                finding.severity,
                message,
                finding.ids,
                facts=facts,
                keys=finding.keys,
                code=finding.code,
            )
