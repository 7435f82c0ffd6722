"""The `markdown` format of tried chat templates: the findings, and the texts that differ folded away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.chat.kind import KINDS
from tokverify.render.chat import place, template_state, verdict
from tokverify.render.chat.text import result_lines
from tokverify.render.chat.text_difference import difference_lines
from tokverify.render.markdown_text import block, code, details, document, mark, prose, table
from tokverify.render.run.markdown import side_row
from tokverify.report.finding import Severity
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.render import RenderOptions
    from tokverify.report.chat import ChatFinding, ChatReport, Rendered


def render(report: ChatReport, options: RenderOptions) -> str:
    """Write what was found as Markdown, or as much of it as fits the limit."""
    heading = f"{mark(report.exit_code)} tokverify chat: {prose(report.actual.name)}"
    return document(heading, verdict(report), _sections(report, options), options)


def _sections(report: ChatReport, options: RenderOptions) -> Iterator[str]:
    sides = [side_row("actual", report.actual)]
    yield table(("", "", ""), sides + ([side_row("expected", report.expected)] if report.expected else []))
    yield _templates(report)
    yield from (_finding(finding) for finding in report.findings)
    if report.not_checked:
        yield "### Not checked\n\n" + "".join(f"- {prose(reason)}\n" for reason in report.not_checked)
    yield from _sources(report, fold=not options.verbose)
    yield from _results(report, verbose=options.verbose)


def _templates(report: ChatReport) -> str:
    rows = [
        (
            prose(template.name),
            template_state(template, report),
            str(sum(result.template == template.name for result in report.results)),
        )
        for template in report.templates
    ]
    return table(("template", "", "conversations"), rows, right=[2])


def _finding(finding: ChatFinding) -> str:
    told = [f"### {finding.severity.name} {prose(finding.kind)}: {prose(finding.template)}\n"]
    told.append(f"{prose(finding.message)}\n")
    if finding.conversations:
        names = ", ".join(code(visible_message(id)) for id in finding.conversations)
        told.append(f"in {plural(len(finding.conversations), 'conversation')}: {names}\n")
    if finding.severity > Severity.INFO:
        told.append(f"repair: {prose(KINDS[finding.kind].repair)}\n")
    return "\n".join(told)


def _sources(report: ChatReport, *, fold: bool) -> Iterator[str]:
    for template in report.templates:
        if template.actual is not None and template.expected is not None and template.actual != template.expected:
            lines = difference_lines(template.actual, template.expected, fold=fold)
            yield details(f"The source of the template {visible_message(template.name)}", block(lines, "diff"))


def _results(report: ChatReport, *, verbose: bool) -> Iterator[str]:
    """Show the texts that differ or get other ids; with `verbose` all."""
    shown = [result for result in report.results if verbose or result.drifts or result.difference]
    several = len(report.templates) > 1
    yield from (_result(result, several=several, fold=not verbose) for result in shown)


def _result(result: Rendered, *, several: bool, fold: bool) -> str:
    state = "another text" if result.drifts else "other ids" if result.difference else "written"
    template = f"template {visible_message(result.template)}, " if several else ""
    where = f" ({visible_message(place(result))})" if place(result) else ""
    note = [f"catches: {visible_message(result.conversation.note)}"] if result.conversation.note else []
    title = f"{state}: {template}conversation {visible_message(result.conversation.id)}{where}"
    return details(title, block([*note, *result_lines(result, fold=fold)], "diff"))
