"""The output formats of `tokverify chat`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tokverify.render.presentation import CI_FORMATS, Presentation, bind_formats, renderers
from tokverify.render.severity import NOUNS
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.render import RenderOptions
    from tokverify.report.chat import ChatReport, Rendered, Template


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
        "table": "tokverify.render.chat.table:render",
        "json": "tokverify.render.chat.json:render",
        "markdown": "tokverify.render.chat.markdown:render",
        "html": "tokverify.render.chat.html:render",
        "junit": "tokverify.render.chat.junit:render",
        **dict.fromkeys(CI_FORMATS, "tokverify.render.chat.issue:to_ci_report"),
    }
)
"""Name -> how what was found is written."""


def present(report: ChatReport) -> Presentation:
    """Return how what was found is written."""
    return Presentation(bind_formats(CHAT_FORMATS, report), verdict(report), report.exit_code)
