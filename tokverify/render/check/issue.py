"""The issues of a check: those of all parts, and the parts that could not be performed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from tokverify.render.audit.issue import to_ci_report as audit_issues
from tokverify.render.chat.issue import to_ci_report as chat_issues
from tokverify.render.check.verdict import verdict
from tokverify.render.ci import CiReport
from tokverify.render.ci.issue import Check, Issue, Level
from tokverify.render.run.issue import to_ci_report as run_issues
from tokverify.report.check import CheckReport, ModelCheck, check_exit_code
from tokverify.text.visible import visible_message

_CANNOT_RUN = Check("check-error", "error", "A part of a check could not be performed.", Level.ERROR)


def to_ci_report(report: CheckReport) -> CiReport:
    """Return the issues of a check."""
    parts = [part for model in report.models for part in _part_reports(model)]
    checks = {check.id: check for check in chain([_CANNOT_RUN], *(part.checks for part in parts))}
    return CiReport(
        issues=chain(_failures(report), *(part.issues for part in parts)),
        checks=tuple(checks.values()),
        verdict=visible_message(verdict(report)),
        exit_code=check_exit_code(report),
        skipped=[sentence for part in parts for sentence in part.skipped],
    )


def _part_reports(model: ModelCheck) -> Iterator[CiReport]:
    if model.run:
        yield run_issues(model.run)
    if model.audit:
        yield audit_issues(model.audit)
    if model.chat:
        yield chat_issues(model.chat)


def _failures(report: CheckReport) -> Iterator[Issue]:
    for model in report.models:
        for note in model.notes:
            if note.is_failure:
                yield Issue(
                    check=_CANNOT_RUN.id,
                    level=Level.ERROR,
                    title=f"{visible_message(model.name)}: {note.part} could not be performed",
                    message=visible_message(note.message),
                    path=model.source,
                    key=f"{model.name}\0{note.part}",
                )
