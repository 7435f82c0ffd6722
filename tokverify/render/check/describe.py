"""Describe a check for a person: the outcome of each part, and everything that the parts found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.render.audit.describe import describe as describe_audit
from tokverify.render.chat.describe import describe as describe_chat
from tokverify.render.check.verdict import part_verdict, part_word, verdict
from tokverify.render.document import VERDICT_STYLES, Column, Document, Paragraph, Section, Style, Table, message
from tokverify.render.run.describe import describe as describe_run
from tokverify.report.check import Part, check_exit_code, part_exit_code

if TYPE_CHECKING:
    from tokverify.render.document import Inline
    from tokverify.render.options import RenderOptions
    from tokverify.report.check import CheckReport, ModelCheck


def describe(report: CheckReport, options: RenderOptions) -> Document:
    """Describe a check, model by model, and then all outcomes in one table."""
    return Document(
        title="tokverify check",
        verdict=verdict(report),
        exit_code=check_exit_code(report),
        sections=_describe_sections(report, options),
    )


def _describe_sections(report: CheckReport, options: RenderOptions) -> Iterator[Section]:
    for model in report.models:
        for part in model.parts:
            document = _describe_part(model, part, options)
            if document:
                yield Section([Paragraph(message(f"{model.name}: {part}", Style.STRONG))])
                yield from document.sections
    # Last, since people see the end of a terminal's output first.
    columns = [Column("model"), Column("part"), Column("outcome"), Column("verdict")]
    yield Section([Table(columns, list(_outcome_rows(report)))], "Outcome")


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
            code = part_exit_code(model, part)
            style = Style.DIM if code is None else VERDICT_STYLES.get(code, Style.WARNING)
            outcome = message(part_word(model, part), style)
            yield [message(model.name), str(part), outcome, message(part_verdict(model, part))]
