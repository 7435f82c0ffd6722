"""The `table` format of tried chat templates, for a person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from tokverify.chat.kind import KINDS
from tokverify.render.alignment import Fold
from tokverify.render.alignment_table import alignment_table
from tokverify.render.chat import place, template_state, verdict
from tokverify.render.chat.text import WITH_TEXTS
from tokverify.render.chat.text_difference import ACTUAL as IN_ACTUAL
from tokverify.render.chat.text_difference import EXPECTED as IN_EXPECTED
from tokverify.render.chat.text_difference import caret_rows, text_lines
from tokverify.render.layout import ACTUAL, DIM, EXPECTED, draw, exact, exact_or_folded, labeled, words
from tokverify.render.severity import STYLES
from tokverify.report.finding import Severity
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tokverify.chat.rendering import Rendering
    from tokverify.render import RenderOptions
    from tokverify.render.chat.text_difference import TextLine
    from tokverify.report.chat import ChatFinding, ChatReport, Rendered, Template
    from tokverify.report.run import Side

_LINE_STYLES = {IN_ACTUAL: ACTUAL, IN_EXPECTED: EXPECTED}
_INDENT = 2
_LEAST_WIDTH = 20
# A template may write a million characters, which would take minutes to draw.
_MOST_CHARACTERS = 100_000


def render(report: ChatReport, options: RenderOptions) -> str:
    """Write what was found, and with `verbose` what the templates wrote; the last line is the verdict."""
    sections = [] if options.quiet else list(_sections(report, options))
    return draw([*sections, words(verdict(report), "bold red" if report.exit_code else "bold green")], options)


def _sections(report: ChatReport, options: RenderOptions) -> Iterator[RenderableType]:
    yield labeled(_heading(report))
    if options.verbose:
        yield from (_source(template, options.width) for template in report.templates if _sources_differ(template))
        for result in report.results:
            yield from _result(result, options.width, several=len(report.templates) > 1)
    for finding in report.findings:
        yield _finding(finding, several=len(report.templates) > 1, verbose=options.verbose)
    if report.not_checked:
        lines = [("", words(reason)) for reason in report.not_checked]
        yield Group(Text("NOT CHECKED", "bold"), labeled(lines, indent=_INDENT))


def _heading(report: ChatReport) -> Iterator[tuple[str, Text]]:
    yield from _side("model", report.actual)
    if report.expected:
        yield from _side("reference", report.expected)
    for index, template in enumerate(report.templates):
        state = template_state(template, report)
        told = words(template.name).append(f", {state}" if state else "", DIM)
        yield "" if index else "templates", told
    if not report.templates:
        yield "templates", Text("none")


def _side(role: str, side: Side) -> Iterator[tuple[str, Text]]:
    yield role, words(side.source, "bold")
    if side.caveat:
        yield "", words(f"caveat: {side.caveat}", "yellow")


def _finding(finding: ChatFinding, *, several: bool, verbose: bool) -> RenderableType:
    title = Text.assemble((f"{finding.severity.name} ", STYLES[finding.severity]), (finding.kind, "bold"))
    lines = [("template", words(finding.template))] if several else []
    lines.append(("found", words(finding.message)))
    if finding.conversations:
        where = plural(len(finding.conversations), "conversation")
        lines.append(("in", words(f"{where}: {', '.join(finding.conversations)}", DIM)))
    if finding.kind in WITH_TEXTS and not verbose:
        lines.append(("", Text("-v shows both sides", DIM)))
    if finding.severity > Severity.INFO:
        lines.append(("repair", words(KINDS[finding.kind].repair)))
    return Group(title, labeled(lines, indent=_INDENT))


def _sources_differ(template: Template) -> bool:
    return None not in (template.actual, template.expected) and template.actual != template.expected


def _source(template: Template, width: int) -> RenderableType:
    title = Text.assemble("SOURCE of ", words(template.name, "bold"))
    return Group(title, _difference(template.actual or "", template.expected or "", width, fold=True))


def _result(result: Rendered, width: int, *, several: bool) -> Iterator[RenderableType]:
    conversation = result.conversation
    template = words(f"{result.template}: ", DIM) if several else ""
    title = Text.assemble(template, words(conversation.id, "bold"), words(f"  {place(result)}".rstrip(), DIM))
    lines = [("catches", words(conversation.note))] if conversation.note else []
    if result.drifts and result.expected:
        counts = [("tokens", Text(_counts(result)))] if result.actual_ids is not None else []
        texts = _difference(result.actual.text or "", result.expected.text or "", width)
        yield Group(title, labeled([*lines, *counts], indent=_INDENT), texts)
        return
    lines += _written("actual", result.actual, result.actual_ids, result.actual_refusal)
    if result.expected and result.expected == result.actual:
        lines.append(("expected", Text("the same", DIM)))
    elif result.expected:
        lines += _written("expected", result.expected, result.expected_ids, result.expected_refusal)
    yield Group(title, labeled(lines, indent=_INDENT))
    if result.difference:
        yield alignment_table(result.difference, "expected", fold=False)


def _counts(result: Rendered) -> str:
    counts = {"actual": result.actual_ids, "expected": result.expected_ids}
    return ", ".join(f"{len(ids):,} in {role}" for role, ids in counts.items() if ids is not None)


def _written(side: str, rendering: Rendering, ids: tuple[int, ...] | None, refusal: str) -> Iterator[tuple[str, Text]]:
    if rendering.text is None:
        yield side, words(rendering.error, "yellow")
        return
    text = rendering.text
    yield side, exact_or_folded(text, fold=len(text) > _MOST_CHARACTERS) if text else exact("", DIM)
    if refusal:
        yield "", words(f"cannot be encoded: {refusal}", "yellow")
    if ids is not None:
        yield "", Text(plural(len(ids), "token"), DIM)


def _difference(actual: str, expected: str, width: int, *, fold: bool = False) -> RenderableType:
    """Show the lines of both texts: `-` before those of actual, `+` before those expected, `^` below what differs."""
    room = max(_LEAST_WIDTH, width - _INDENT - len("= "))
    lines = text_lines(actual, expected, fold=fold)
    return Group(*(_fold(line) if isinstance(line, Fold) else _line(line, room) for line in lines))


def _fold(fold: Fold) -> Text:
    return Text(f"{'':{_INDENT}}... {fold.what} ...", DIM)


def _line(line: TextLine, room: int) -> Text:
    style = _LINE_STYLES.get(line.mark, DIM)
    drawn = Text()
    for number, (shown, carets) in enumerate(caret_rows(line, room)):
        drawn.append(f"{chr(10) if number else ''}{'':{_INDENT}}{' ' if number else line.mark} ", style)
        drawn.append(shown, style)
        if carets:
            drawn.append(f"\n{'':{_INDENT}}  {carets}", f"bold {style}")
    return drawn
