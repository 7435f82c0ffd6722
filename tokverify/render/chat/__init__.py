"""The output formats of `tokverify chat`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.render.presentation import Presentation, bind_formats, build_formats
from tokverify.render.severity import NOUNS
from tokverify.report.chat import chat_exit_code, count_findings
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.render import RenderOptions
    from tokverify.render.ci import CiReport
    from tokverify.render.document import Document
    from tokverify.report.chat import ChatReport, Conversation, RenderedConversation, Template


def verdict(report: ChatReport) -> str:
    """Summarize a report, such as `1 template, 14 conversations: 1 error, 2 hints`."""
    counts = {noun: count_findings(report, severity) for severity, noun in NOUNS.items()}
    found = [plural(count, noun) for noun, count in counts.items() if count]
    templates = sum(template.actual is not None for template in report.templates)
    tried = f"{plural(templates, 'template')}, {plural(len(report.conversations), 'conversation')}"
    return f"{tried}: {', '.join(found) or 'nothing found'}"


def template_state(template: Template, report: ChatReport) -> str:
    """Compare a template with the reference's, in words; empty if the reference has no templates."""
    if template.actual is None:
        return "only in the reference"
    if template.expected is None:
        others = any(other.expected is not None for other in report.templates)
        return "not in the reference" if others else ""
    return "different in the reference" if template.difference else "the same in the reference"


def conversation_of(result: RenderedConversation, report: ChatReport) -> Conversation:
    """Return the conversation of a result."""
    return next(conversation for conversation in report.conversations if conversation.id == result.conversation)


def place(conversation: Conversation) -> str:
    """Return the file and line of a conversation; empty for those that ship with tokverify."""
    return f"{conversation.file}:{conversation.line}" if conversation.file else ""


def _describe(report: ChatReport, options: RenderOptions) -> Document:
    from tokverify.render.chat.describe import describe

    return describe(report, options)


def _render_html(report: ChatReport) -> str:
    from tokverify.render.chat.html import render

    return render(report)


def _render_junit(report: ChatReport) -> str:
    from tokverify.render.chat.junit import render

    return render(report)


def _to_ci_report(report: ChatReport) -> CiReport:
    from tokverify.render.chat.issue import to_ci_report

    return to_ci_report(report)


CHAT_FORMATS = build_formats(_describe, html=_render_html, junit=_render_junit, ci=_to_ci_report)
"""Format name -> renderer."""


def present(report: ChatReport) -> Presentation:
    """Return the formats, the verdict and the exit code of a report."""
    return Presentation(bind_formats(CHAT_FORMATS, report), verdict(report), chat_exit_code(report))
