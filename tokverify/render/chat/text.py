"""One rendered conversation as plain lines, which have passed `visible`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.render.case_text import alignment_lines, shortened
from tokverify.render.chat.text_difference import difference_lines
from tokverify.text.visible import visible, visible_message

if TYPE_CHECKING:
    from tokverify.report.chat import ChatFinding, ChatReport, RenderedConversation, Rendering

WITH_TEXTS = frozenset({"drift", "white-space", "ids"})
"""The kinds of findings that concern the texts or ids of both sides."""

_MAX_CHARACTERS = 4000


def result_lines(result: RenderedConversation, *, fold: bool = True) -> Iterator[str]:
    """Show what both sides write, and where the texts or the ids differ."""
    actual, expected = result.actual, result.expected
    if result.text_difference and expected:
        yield from difference_lines(actual.text or "", expected.text or "", result.text_difference, fold=fold)
        return
    yield f"actual    {_describe(actual, fold)}"
    if expected and expected != actual:
        yield f"expected  {_describe(expected, fold)}"
    if result.difference:
        yield "ids"
        yield from alignment_lines(result.difference, "expected", fold=fold)


def finding_line(finding: ChatFinding) -> str:
    """Write a finding in one line, such as `ERROR drift: writes ...`."""
    return f"{finding.severity.name} {visible_message(finding.kind)}: {visible_message(finding.message)}"


def first_result(finding: ChatFinding, report: ChatReport) -> RenderedConversation | None:
    """Return the first result that a finding concerns, if any."""
    chosen = (result for result in report.results if result.template == finding.template)
    return next((result for result in chosen if result.conversation in finding.conversations), None)


def _describe(rendering: Rendering, fold: bool) -> str:
    if rendering.text is None:
        return f"{'refuses' if rendering.deliberate else 'fails'}: {visible_message(rendering.error)}"
    return (shortened(rendering.text, _MAX_CHARACTERS) if fold else visible(rendering.text)) or "(nothing)"
