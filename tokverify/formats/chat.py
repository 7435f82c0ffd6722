"""The output formats of `tokverify chat`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tokverify.formats.ci import Told, ci_formats
from tokverify.formats.presentation import Presentation, bound
from tokverify.formats.severity import NOUNS
from tokverify.wording import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokverify.chat.report import ChatReport, Rendered, Template
    from tokverify.formats import RenderOptions


def verdict(report: ChatReport) -> str:
    """Sum up, such as `1 template, 14 conversations: 1 error, 2 hints`."""
    counts = [plural(report.count(severity), noun) for severity, noun in NOUNS.items() if report.count(severity)]
    templates = sum(template.actual is not None for template in report.templates)
    tried = f"{plural(templates, 'template')}, {plural(len(report.conversations), 'conversation')}"
    return f"{tried}: {', '.join(counts) or 'nothing found'}"


def template_state(template: Template, report: ChatReport) -> str:
    """Say which side has a template, and if both do, whether it is the same; nothing if there are none to compare."""
    if template.actual is None:
        return "only the reference has it"
    if template.expected is None:
        others = any(other.expected is not None for other in report.templates)
        return "the reference has none of this name" if others else ""
    return "the same in the reference" if template.actual == template.expected else "another in the reference"


def place(result: Rendered) -> str:
    """Return the file and line of a conversation; empty for those that come with tokverify."""
    conversation = result.conversation
    return f"{conversation.file}:{conversation.line}" if conversation.file else ""


def _table(report: ChatReport, options: RenderOptions) -> str:
    from tokverify.formats.chat_table import render

    return render(report, options)


def _json(report: ChatReport, options: RenderOptions) -> str:  # noqa: ARG001 - the signature of every format
    from tokverify.formats.chat_json import render

    return render(report)


def _markdown(report: ChatReport, options: RenderOptions) -> str:
    from tokverify.formats.chat_markdown import render

    return render(report, options)


def _html(report: ChatReport, options: RenderOptions) -> str:  # noqa: ARG001 - the signature of every format
    from tokverify.formats.html.chat import render

    return render(report)


def _junit(report: ChatReport, options: RenderOptions) -> str:  # noqa: ARG001 - the signature of every format
    from tokverify.formats.chat_junit import render

    return render(report)


def _told(report: ChatReport) -> Told:
    from tokverify.formats.chat_issue import CHAT_CHECKS, chat_issues
    from tokverify.visible import visible_message

    return Told(
        issues=chat_issues(report),
        checks=CHAT_CHECKS,
        verdict=verdict(report),
        exit_code=report.exit_code,
        skipped=[f"not checked: {visible_message(reason)}" for reason in report.not_checked],
    )


def job_summary(report: ChatReport, limit: int) -> str:
    """Write what GitHub shows of a step, in at most `limit` bytes."""
    from tokverify.formats import RenderOptions
    from tokverify.formats.chat_markdown import render

    return render(report, RenderOptions(), limit)


CHAT_FORMATS: Mapping[str, Callable[[ChatReport, RenderOptions], str]] = {
    "table": _table,
    "json": _json,
    "markdown": _markdown,
    "html": _html,
    "junit": _junit,
    **ci_formats(_told),
}
"""Name -> how what was found is written."""


def present(report: ChatReport) -> Presentation:
    """Return how what was found is written."""
    return Presentation(bound(CHAT_FORMATS, report), verdict(report), report.exit_code, partial(job_summary, report))
