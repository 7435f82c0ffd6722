"""Describe what a change invalidates, what has to be done, and the text that proves it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.render.document import Column, Fields, Heading, Inline, Only, Section, Span, Style, Table, exact, message
from tokverify.report.consequence import Consequence, Level, Outcome, Witness
from tokverify.text.visible import visible_message
from tokverify.text.wording import encode_options

if TYPE_CHECKING:
    from tokverify.report.diff import ChangeReport

_STYLES = {Outcome.VALID: Style.GOOD, Outcome.BROKEN: Style.BAD, Outcome.UNKNOWN: Style.WARNING}
_WHAT = {
    Level.VOCABULARY: "weights",
    Level.SPECIAL: "prompts and stop conditions",
    Level.IDS: "embeddings and caches",
    Level.TEXT: "round trips",
    Level.COST: "token counts",
}
_MAX_SHOWN = 200


def consequence_sections(report: ChangeReport) -> Iterator[Section]:
    """Describe all consequences in a table, and each witness below it."""
    if not report.consequences:
        return
    columns = [Column("level"), Column("depends on it"), Column(""), Column("action")]
    rows = [_describe_row(each) for each in report.consequences]
    yield Section([Table(columns, rows)], "What the change invalidates")
    yield Section([Only("html", [Heading("Why")])])
    yield Section([Fields(list(_list_evidence(report)))])


def _describe_row(consequence: Consequence) -> list[Inline]:
    outcome = message(consequence.outcome, _STYLES[consequence.outcome])
    return [str(consequence.level), _WHAT[consequence.level], outcome, message(consequence.action)]


def _list_evidence(report: ChangeReport) -> Iterator[tuple[str, Inline]]:
    for consequence in report.consequences:
        yield str(consequence.level), message(consequence.reason)
        witness = consequence.witness
        if witness:
            yield "", ["proof: ", _show_text(witness.text), f" ({_options(witness)})"]
            yield "", ["old: ", _describe_side(consequence, witness.old, Style.EXPECTED)]
            yield "", ["new: ", _describe_side(consequence, witness.new, Style.ACTUAL)]


def _describe_side(consequence: Consequence, value: str, style: Style) -> Span:
    # Only decoded texts contain spaces and characters that matter; ids are plain words.
    return _show_text(_shorten(value), style) if consequence.level is Level.TEXT else message(_shorten(value), style)


def _show_text(text: str, style: Style = Style.PLAIN) -> Span:
    return exact(text, style) if text else Span("the empty text", Style.DIM)


def _options(witness: Witness) -> str:
    return encode_options(add_special=witness.add_special, parse_special=witness.parse_special)


def _shorten(value: str) -> str:
    return value if len(value) <= _MAX_SHOWN else f"{value[:_MAX_SHOWN]}…"


def counted_consequences(report: ChangeReport) -> list[Consequence]:
    """Return the consequences that the exit code depends on; without `breaking`, none does."""
    return [each for each in report.consequences if each.level in report.breaking]


def consequence_lines(consequence: Consequence) -> list[str]:
    """Describe a consequence in lines that have passed `visible`."""
    lines = [f"{_WHAT[consequence.level]}: {consequence.outcome}; {visible_message(consequence.reason)}"]
    if consequence.action:
        lines.append(f"required: {visible_message(consequence.action)}")
    witness = consequence.witness
    if witness:
        lines.append(f"proof: {_show_text(witness.text).text} ({_options(witness)})")
        lines.append(f"old: {_describe_side(consequence, witness.old, Style.EXPECTED).text}")
        lines.append(f"new: {_describe_side(consequence, witness.new, Style.ACTUAL).text}")
    return lines
