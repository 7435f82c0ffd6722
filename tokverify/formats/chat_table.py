"""The `table` format of tried chat templates, for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from tokverify.audit.finding import Severity
from tokverify.formats.chat import verdict
from tokverify.formats.layout import DIM, draw, exact, exact_or_folded, labeled, words
from tokverify.formats.verdict import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from tokverify.chat.rendering import Rendering
    from tokverify.chat.report import ChatFinding, ChatReport, Rendered
    from tokverify.formats import RenderOptions

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold"}
_INDENT = 2


def render(report: ChatReport, options: RenderOptions) -> str:
    """Write what was found, and with `verbose` what the templates wrote; the last line is the verdict."""
    sections = [] if options.quiet else list(_sections(report, verbose=options.verbose))
    return draw([*sections, Text(verdict(report), "bold red" if report.exit_code else "bold green")], options)


def _sections(report: ChatReport, *, verbose: bool) -> Iterator[RenderableType]:
    yield labeled(_heading(report))
    if verbose:
        yield from map(_result, report.results)
    for finding in report.findings:
        yield _finding(finding, several=len(report.templates) > 1)
    if report.not_checked:
        lines = [("", words(reason)) for reason in report.not_checked]
        yield Group(Text("NOT CHECKED", "bold"), labeled(lines, indent=_INDENT))


def _heading(report: ChatReport) -> Iterator[tuple[str, Text]]:
    yield "model", words(report.actual.source, "bold")
    if report.expected:
        yield "reference", words(report.expected.source, "bold")
    yield "templates", words(", ".join(report.templates) or "none")


def _finding(finding: ChatFinding, *, several: bool) -> RenderableType:
    title = Text.assemble((f"{finding.severity.name} ", _STYLES[finding.severity]), (finding.kind, "bold"))
    lines = [("template", words(finding.template))] if several else []
    lines.append(("found", words(finding.message)))
    if finding.conversations:
        where = plural(len(finding.conversations), "conversation")
        lines.append(("in", words(f"{where}: {', '.join(finding.conversations)}", DIM)))
    return Group(title, labeled(lines, indent=_INDENT))


def _result(result: Rendered) -> RenderableType:
    conversation = result.conversation
    title = Text.assemble(words(conversation.id, "bold"), words(f"  {conversation.file}:{conversation.line}", DIM))
    lines = [("catches", words(conversation.note))] if conversation.note else []
    lines += _written("actual", result.actual, result.actual_ids)
    if result.expected and result.expected.text == result.actual.text:
        lines.append(("expected", Text("the same", DIM)))
    elif result.expected:
        lines += _written("expected", result.expected, result.expected_ids)
    return Group(title, labeled(lines, indent=_INDENT))


def _written(side: str, rendering: Rendering, ids: tuple[int, ...] | None) -> Iterator[tuple[str, Text]]:
    if rendering.text is None:
        yield side, words(rendering.error, "yellow")
        return
    yield side, exact_or_folded(rendering.text, fold=False) if rendering.text else exact("", DIM)
    if ids is not None:
        yield "", Text(plural(len(ids), "token"), DIM)
