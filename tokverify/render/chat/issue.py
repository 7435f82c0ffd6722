"""The findings in chat templates as issues with a location, for the `github`, `gitlab` and `sarif` formats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from tokverify.render.chat.text import WITH_TEXTS, first_result, result_lines
from tokverify.render.chat.verdict import conversation_of, verdict
from tokverify.render.ci import CiReport
from tokverify.render.ci.issue import LEVELS, Check, Issue, Level, issue_of, join_lines
from tokverify.report.chat import ChatFinding, ChatReport, chat_exit_code, fails_unchecked
from tokverify.report.chat_kind import CHAT_KINDS
from tokverify.report.finding import Severity
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

CHAT_CHECKS: Sequence[Check] = tuple(
    Check(f"chat-{kind}", kind, about.summary, LEVELS[about.severity], f"{about.summary} Repair: {about.repair}.")
    for kind, about in CHAT_KINDS.items()
)
"""The kinds of findings."""

UNCHECKED_CHECK = Check("chat-not-checked", "not checked", "Something could not be checked.", Level.ERROR)
"""What the options require, but could not be checked."""


def to_ci_report(report: ChatReport) -> CiReport:
    """Return what CI systems show of a report."""
    return CiReport(
        issues=chain(chat_issues(report), _unchecked_issues(report)),
        checks=(*CHAT_CHECKS, UNCHECKED_CHECK),
        verdict=verdict(report),
        exit_code=chat_exit_code(report),
        skipped=[f"not checked: {visible_message(reason)}" for reason in report.not_checked],
    )


def chat_issues(report: ChatReport) -> Iterator[Issue]:
    """Yield each finding, located at the first of its conversations if that has a file, else at the model."""
    for finding in report.findings:
        result = first_result(finding, report)
        conversation = conversation_of(result, report) if result else None
        if conversation and not conversation.file:
            conversation = None
        yield Issue(
            check=f"chat-{finding.kind}",
            level=LEVELS[finding.severity],
            title=f"{finding.kind}: {visible_message(finding.template)}",
            message=join_lines(_lines(finding, report)),
            path=conversation.file if conversation else report.actual.source,
            line=max(1, conversation.line) if conversation else 1,
            key=f"{report.actual.name}\0{finding.template}\0{finding.message}",
        )


def _unchecked_issues(report: ChatReport) -> Iterator[Issue]:
    """Yield what was not checked, if that makes the report fail."""
    for reason in report.not_checked if fails_unchecked(report) else ():
        key = f"{report.actual.name}\0{reason}"
        yield issue_of(UNCHECKED_CHECK, [visible_message(reason)], path=report.actual.source, key=key)


def _lines(finding: ChatFinding, report: ChatReport) -> list[str]:
    lines = [visible_message(finding.message)]
    if finding.conversations:
        names = ", ".join(map(visible_message, finding.conversations))
        lines.append(f"in {plural(len(finding.conversations), 'conversation')}: {names}")
    if finding.severity > Severity.INFO:
        lines.append(f"repair: {CHAT_KINDS[finding.kind].repair}")
    result = first_result(finding, report)
    if result and finding.kind in WITH_TEXTS:
        lines += [f"conversation {visible_message(result.conversation)}:", *result_lines(result)]
    return lines
