"""The output formats of `tokverify chat`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.formats.presentation import CI_FORMATS, Presentation, bound, renderers
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


CHAT_FORMATS: Mapping[str, Callable[[ChatReport, RenderOptions], str]] = renderers(
    {
        "table": "tokverify.formats.chat.table:render",
        "json": "tokverify.formats.chat.json:render",
        "markdown": "tokverify.formats.chat.markdown:render",
        "html": "tokverify.formats.html.chat:render",
        "junit": "tokverify.formats.chat.junit:render",
        **dict.fromkeys(CI_FORMATS, "tokverify.formats.chat.issue:tell"),
    }
)
"""Name -> how what was found is written."""


def present(report: ChatReport) -> Presentation:
    """Return how what was found is written."""
    return Presentation(bound(CHAT_FORMATS, report), verdict(report), report.exit_code)
