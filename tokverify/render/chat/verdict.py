"""The one-line summary of `tokverify chat`, and what several formats say about templates."""

from __future__ import annotations

from tokverify.render.severity import NOUNS
from tokverify.report.chat import (
    ChatReport,
    Conversation,
    RenderedConversation,
    Template,
    count_findings,
    fails_unchecked,
)
from tokverify.text.wording import plural


def verdict(report: ChatReport) -> str:
    """Summarize a report, such as `1 template, 14 conversations: 1 error, 2 informational findings`."""
    counts = {noun: count_findings(report, severity) for severity, noun in NOUNS.items()}
    found = [plural(count, noun) for noun, count in counts.items() if count]
    templates = sum(template.actual is not None for template in report.templates)
    tried = f"{plural(templates, 'template')}, {plural(len(report.conversations), 'conversation')}"
    reason = "; failing because not everything was checked" if fails_unchecked(report) else ""
    return f"{tried}: {', '.join(found) or 'nothing found'}{reason}"


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
