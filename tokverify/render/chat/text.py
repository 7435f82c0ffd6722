"""One rendered conversation in plain lines, for formats that other programs show; they have passed `visible`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.render.case_text import alignment_lines, shortened
from tokverify.render.chat.text_difference import difference_lines
from tokverify.text.visible import visible, visible_message

if TYPE_CHECKING:
    from tokverify.chat.rendering import Rendering
    from tokverify.report.chat import ChatFinding, ChatReport, Rendered

WITH_TEXTS = frozenset({"drift", "white-space", "ids"})
"""The kinds of findings that are about what both sides write."""

_MOST_CHARACTERS = 4000


def result_lines(result: Rendered, *, fold: bool = True) -> Iterator[str]:
    """Show what both sides write, and where they part, in the text or in the ids."""
    actual, expected = result.actual, result.expected
    if result.drifts and expected:
        yield from difference_lines(actual.text or "", expected.text or "", fold=fold)
        return
    yield f"actual    {_written(actual, fold)}"
    if expected and expected != actual:
        yield f"expected  {_written(expected, fold)}"
    if result.difference:
        yield "ids"
        yield from alignment_lines(result.difference, "expected", fold=fold)


def finding_line(finding: ChatFinding) -> str:
    """Write a finding in one line, such as `ERROR drift: writes ...`."""
    return f"{finding.severity.name} {visible_message(finding.kind)}: {visible_message(finding.message)}"


def shown_with(finding: ChatFinding, report: ChatReport) -> Rendered | None:
    """Return the first result that a finding is about, if it is about any."""
    chosen = (result for result in report.results if result.template == finding.template)
    return next((result for result in chosen if result.conversation.id in finding.conversations), None)


def _written(rendering: Rendering, fold: bool) -> str:
    if rendering.text is None:
        return f"{'refuses' if rendering.deliberate else 'fails'}: {visible_message(rendering.error)}"
    return (shortened(rendering.text, _MOST_CHARACTERS) if fold else visible(rendering.text)) or "(nothing)"
