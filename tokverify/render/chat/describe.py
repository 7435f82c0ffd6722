"""Describe a report on chat templates for people: the findings, and what the templates write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.render.alignment import Fold
from tokverify.render.case_text import shortened
from tokverify.render.chat.text import WITH_TEXTS, result_lines
from tokverify.render.chat.text_difference import ACTUAL, EXPECTED, caret_rows, difference_lines, text_lines
from tokverify.render.chat.verdict import conversation_of, place, template_state, verdict
from tokverify.render.document import (
    Alignment,
    Bullets,
    Code,
    Details,
    Document,
    Fields,
    Heading,
    Only,
    Paragraph,
    Section,
    Span,
    Style,
    code,
    message,
)
from tokverify.render.severity import SEVERITY_STYLES
from tokverify.report.chat import chat_exit_code, findings_for, message_texts
from tokverify.report.chat_kind import CHAT_KINDS
from tokverify.report.finding import Severity
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.render.chat.text_difference import TextLine
    from tokverify.render.document import Block, Inline
    from tokverify.render.options import RenderOptions
    from tokverify.report.chat import ChatFinding, ChatReport, RenderedConversation, Rendering, TextDifference
    from tokverify.report.run import Side

    _Line = tuple[str, Inline]

_LINE_STYLES = {ACTUAL: Style.ACTUAL, EXPECTED: Style.EXPECTED}
_OUTCOMES = {
    0: ("Passed", "nothing worse than INFO was found"),
    1: ("Failed", "an error or a warning was found"),
}
_INDENT = 2
_MIN_WIDTH = 20
# A template may write a million characters, which would take minutes to draw.
_MAX_CHARACTERS = 100_000


def describe(report: ChatReport, options: RenderOptions) -> Document:
    """Describe a report; with `verbose`, everything that the templates write is included."""
    return Document(
        title=["tokverify chat: ", message(report.actual.name)],
        verdict=verdict(report),
        exit_code=chat_exit_code(report),
        sections=_describe_sections(report, options),
        outcome=_OUTCOMES[chat_exit_code(report)],
        options=report.options,
        versions=report.versions,
    )


def _describe_sections(report: ChatReport, options: RenderOptions) -> Iterator[Section]:
    yield Section([Fields(list(_describe_sides(report)))])
    if options.verbose:
        yield from _describe_texts_for_table(report, options.width)
    for finding in report.findings:
        yield _describe_finding(finding, several=len(report.templates) > 1, verbose=options.verbose)
    if report.not_checked:
        yield Section([Bullets([message(reason) for reason in report.not_checked])], "Not checked")
    yield Section([Only("html", [Heading("Conversations")])])
    yield from _describe_texts_for_markdown(report, verbose=options.verbose)


def _describe_sides(report: ChatReport) -> Iterator[_Line]:
    yield from _describe_side("model", report.actual)
    if report.expected:
        yield from _describe_side("reference", report.expected)
    for index, template in enumerate(report.templates):
        state = template_state(template, report)
        name = message(template.name)
        yield "" if index else "templates", [name, Span(f", {state}", Style.DIM)] if state else name
    if not report.templates:
        yield "templates", "none"


def _describe_side(role: str, side: Side) -> Iterator[_Line]:
    yield role, code(side.source, Style.STRONG)
    if side.caveat:
        yield "", message(f"caveat: {side.caveat}", Style.CAVEAT)


def _describe_finding(finding: ChatFinding, *, several: bool, verbose: bool) -> Section:
    title: Inline = [
        Span(f"{finding.severity.name} ", SEVERITY_STYLES[finding.severity]),
        message(finding.kind, Style.STRONG),
    ]
    lines: list[_Line] = [("template", message(finding.template))] if several else []
    lines.append(("found", message(finding.message)))
    if finding.conversations:
        count = plural(len(finding.conversations), "conversation")
        lines.append(("in", message(f"{count}: {', '.join(finding.conversations)}", Style.DIM)))
    about = CHAT_KINDS[finding.kind]
    if finding.severity > Severity.INFO:
        lines.append(("repair", message(about.repair)))
    hint: list[_Line] = (
        [("", Span("-v shows both sides", Style.DIM))] if finding.kind in WITH_TEXTS and not verbose else []
    )
    return Section(
        [
            Only("table", [Fields([*lines, *hint])]),
            Only("markdown", [Fields(lines)]),
            Only("html", [Fields([*lines, ("meaning", message(about.summary))])]),
        ],
        title,
    )


def _describe_texts_for_table(report: ChatReport, width: int) -> Iterator[Section]:
    """Show the sources and texts of both sides before the findings, as people see the end of a terminal's output."""
    for template in report.templates:
        if template.difference:
            source = [Span("SOURCE of "), message(template.name, Style.STRONG)]
            lines = _draw_difference(template.actual, template.expected, template.difference, width, fold=True)
            yield Section([Only("table", [Details(source, lines)])])
    for result in report.results:
        title = _describe_title(result, report)
        yield Section([Only("table", [Details(title, list(_describe_result(result, report, width)))])])


def _describe_title(result: RenderedConversation, report: ChatReport) -> list[Span]:
    template = [message(f"{result.template}: ", Style.DIM)] if len(report.templates) > 1 else []
    where = place(conversation_of(result, report))
    title = [*template, message(result.conversation, Style.STRONG)]
    return [*title, message(f"  {where}", Style.DIM)] if where else title


def _describe_result(result: RenderedConversation, report: ChatReport, width: int) -> Iterator[Block]:
    note = conversation_of(result, report).note
    lines: list[_Line] = [("catches", message(note))] if note else []
    if result.text_difference and result.expected:
        counts = [("tokens", _describe_counts(result))] if result.actual_ids is not None else []
        yield Fields([*lines, *counts])
        yield from _draw_difference(result.actual.text, result.expected.text, result.text_difference, width)
        return
    lines += _describe_rendering("actual", result.actual, result.actual_ids, result.actual_refusal)
    if result.expected and result.expected == result.actual:
        lines.append(("expected", Span("the same", Style.DIM)))
    elif result.expected:
        lines += _describe_rendering("expected", result.expected, result.expected_ids, result.expected_refusal)
    yield Fields(lines)
    if result.difference:
        yield Alignment(result.difference, "expected", fold=False)


def _describe_counts(result: RenderedConversation) -> str:
    counts = {"actual": result.actual_ids, "expected": result.expected_ids}
    return ", ".join(f"{len(ids):,} in {role}" for role, ids in counts.items() if ids is not None)


def _describe_rendering(side: str, rendering: Rendering, ids: tuple[int, ...] | None, refusal: str) -> Iterator[_Line]:
    if rendering.text is None:
        yield side, message(rendering.error, Style.CAVEAT)
        return
    yield side, Span(shortened(rendering.text, _MAX_CHARACTERS), is_code=True)
    if refusal:
        yield "", message(f"cannot be encoded: {refusal}", Style.CAVEAT)
    if ids is not None:
        yield "", Span(plural(len(ids), "token"), Style.DIM)


def _draw_difference(
    actual: str | None, expected: str | None, difference: TextDifference, width: int, *, fold: bool = False
) -> list[Block]:
    """Show the lines of both texts: `-` before those of actual, `+` before those of expected, `^` below differences."""
    room = max(_MIN_WIDTH, width - _INDENT - len("= "))
    drawn: list[Block] = []
    for line in text_lines(actual or "", expected or "", difference, fold=fold):
        if isinstance(line, Fold):
            drawn.append(Paragraph(Span(f"... {line.what} ...", Style.DIM)))
        else:
            drawn += _draw_line(line, room)
    return drawn


def _draw_line(line: TextLine, room: int) -> Iterator[Block]:
    style = _LINE_STYLES.get(line.mark, Style.DIM)
    for number, (shown, carets) in enumerate(caret_rows(line, room)):
        yield Paragraph(Span(f"{' ' if number else line.mark} {shown}", style))
        if carets:
            yield Paragraph(Span(f"  {carets}", style))


def _describe_texts_for_markdown(report: ChatReport, *, verbose: bool) -> Iterator[Section]:
    """Fold away the sources and texts that differ; with `verbose`, all of them."""
    for template in report.templates:
        if template.difference:
            texts = template.actual or "", template.expected or ""
            source = list(difference_lines(*texts, template.difference, fold=not verbose))
            title: Inline = ["The source of the template ", message(template.name)]
            yield Section([Only("markdown", [Details(title, [Code(source, "diff")])])])
    for result in report.results:
        if verbose or result.text_difference or result.difference:
            yield Section(
                [
                    Only("markdown", [_fold_away(result, report, verbose=verbose)]),
                    Only("html", [_describe_for_page(result, report)]),
                ]
            )


def _fold_away(result: RenderedConversation, report: ChatReport, *, verbose: bool) -> Details:
    note = conversation_of(result, report).note
    lines = [f"catches: {message(note).text}"] if note else []
    lines += result_lines(result, fold=not verbose)
    state = "different text: " if result.text_difference else "different ids: " if result.difference else ""
    return Details([state, *_describe_title(result, report)], [Code(lines, "diff")])


def _describe_for_page(result: RenderedConversation, report: ChatReport) -> Details:
    """Show a conversation, what was found in it, and what both sides write."""
    conversation = conversation_of(result, report)
    lines: list[_Line] = [("catches", message(conversation.note))] if conversation.note else []
    for role, text in message_texts(conversation.messages):
        lines.append((visible_message(role), Span(shortened(text), is_code=True)))
    if result.actual_ids is not None or result.expected_ids is not None:
        lines.append(("tokens", _describe_counts(result)))
    for role, refusal in (("actual", result.actual_refusal), ("expected", result.expected_refusal)):
        if refusal:
            lines.append((role, message(f"cannot be encoded: {refusal}", Style.CAVEAT)))
    found = sorted(findings_for(report, result), key=lambda finding: finding.severity, reverse=True)
    label = [Span(f"{found[0].severity.name} ", SEVERITY_STYLES[found[0].severity])] if found else []
    kinds = ", ".join(dict.fromkeys(finding.kind for finding in found))
    blocks: list[Block] = [Fields(lines), Code(list(result_lines(result)), "diff")]
    return Details([*label, *_describe_title(result, report)], blocks, hint=message(kinds))
