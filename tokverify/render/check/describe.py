"""Describe a check for a person: what the parts found, and the outcome of each part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.render.audit.describe import describe as describe_audit
from tokverify.render.chat.describe import describe as describe_chat
from tokverify.render.check.verdict import part_verdict, part_word, verdict
from tokverify.render.document import (
    VERDICT_STYLES,
    Column,
    Document,
    Fields,
    Heading,
    Inline,
    Only,
    Paragraph,
    Section,
    Span,
    Style,
    Table,
    code,
    message,
)
from tokverify.render.run.describe import describe as describe_run
from tokverify.report.check import CheckReport, ModelCheck, Part, check_exit_code, part_exit_code
from tokverify.report.run import Status
from tokverify.text.visible import visible_message

if TYPE_CHECKING:
    from tokverify.render.options import RenderOptions

_OUTCOMES = {
    0: ("Passed", "everything that was checked agrees or is accepted"),
    1: ("Failed", "a part of the check fails"),
    2: ("Not checked", "a part of the check could not be performed"),
}
_FOLDED = "parts in which everything agrees are shown with -v"


def describe(report: CheckReport, options: RenderOptions) -> Document:
    """Describe a check, model by model, and then all outcomes in one table."""
    return Document(
        title="tokverify check",
        verdict=verdict(report),
        exit_code=check_exit_code(report),
        sections=_describe_sections(report, options),
        outcome=_OUTCOMES[check_exit_code(report)],
        options=report.options,
        versions=report.versions,
    )


def _describe_sections(report: CheckReport, options: RenderOptions) -> Iterator[Section]:
    columns = [Column("model"), Column("part"), Column("outcome"), Column("verdict")]
    outcome = Table(columns, list(_outcome_rows(report)))
    files = Fields([(visible_message(model.name), code(model.source)) for model in report.models])
    yield Section([Only("markdown", [outcome]), Only("html", [outcome, files])], "Outcome")
    folded = 0
    for model in report.models:
        for part in model.parts:
            if not options.verbose and not _has_news(model, part):
                folded += part_exit_code(model, part) is not None
            elif document := _describe_part(model, part, options):
                title = message(f"{model.name}: {part}", Style.STRONG)
                yield Section([Only("table", [Paragraph(title)]), Only("markdown", [Heading(title.text)])])
                yield from document.sections
    # Last, since people see the end of a terminal's output first.
    note = [Paragraph(Span(_FOLDED, Style.DIM))] if folded else []
    yield Section([Only("table", [outcome, *note])], "Outcome")
    yield Section([Only("markdown", note)])


def _has_news(model: ModelCheck, part: Part) -> bool:
    """Whether a part found anything besides agreement."""
    if part_exit_code(model, part):
        return True
    if part is Part.RUN and model.run:
        report = model.run
        all_match = all(result.status is Status.MATCH for result in report.results)
        return bool(report.differences or report.baseline or report.expected.caveat) or not all_match
    if part is Part.AUDIT and model.audit:
        return bool(model.audit.findings or model.audit.waived or model.audit.unused_waivers)
    return part is Part.CHAT and model.chat is not None and bool(model.chat.findings)


def _describe_part(model: ModelCheck, part: Part, options: RenderOptions) -> Document | None:
    """Describe what a part found; None if it has no result."""
    if part is Part.RUN and model.run:
        return describe_run(model.run, options)
    if part is Part.AUDIT and model.audit:
        return describe_audit(model.audit, options)
    if part is Part.CHAT and model.chat:
        return describe_chat(model.chat, options)
    return None


def _outcome_rows(report: CheckReport) -> Iterator[list[Inline]]:
    for model in report.models:
        for part in model.parts:
            exit_code = part_exit_code(model, part)
            style = Style.DIM if exit_code is None else VERDICT_STYLES.get(exit_code, Style.WARNING)
            outcome = message(part_word(model, part), style)
            yield [message(model.name), str(part), outcome, message(part_verdict(model, part))]
