"""Draw the stages of a reference next to ours, and the first one that differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from tokverify.render.alignment_table import alignment_table
from tokverify.render.explain.part import indent, title
from tokverify.render.layout import ACTUAL, DIM, EXPECTED, exact, table, words
from tokverify.report.explain import StageComparison, StageDivergence, StageOutcome

if TYPE_CHECKING:
    from rich.console import RenderableType


def reference_section(reference: StageDivergence, *, full: bool) -> RenderableType:
    """Compare stage by stage; where the results differ, align them."""
    if reference.first is None:
        summary = Text.assemble(words(reference.name), " returns the same ids", style="green")
    else:
        difference = f" returns different ids; the first stage that differs is: {reference.first}"
        summary = Text.assemble(words(reference.name), difference, style="red")
    parts: list[RenderableType] = [title(7, "reference", summary), indent(_draw_stages(reference))]
    parts += [indent(words(note, DIM)) for note in reference.notes]
    first = next((stage for stage in reference.stages if stage.stage == reference.first), None)
    if first is not None and (first.actual_code_points or first.expected_code_points):
        parts.append(indent(_draw_code_points("actual", first.actual_code_points)))
        parts.append(indent(_draw_code_points("expected", first.expected_code_points)))
    if reference.difference:
        parts += [Text(), indent(alignment_table(reference.difference, "expected", fold=not full))]
    return Group(*parts)


def _draw_stages(reference: StageDivergence) -> RenderableType:
    drawn = table(("stage", "left"), ("", "left"), ("actual", "left"), ("expected", "left"))
    for stage in reference.stages:
        drawn.add_row(*_draw_stage(stage, is_first=stage.stage == reference.first))
    return drawn


def _draw_stage(stage: StageComparison, *, is_first: bool) -> list[Text]:
    name = Text(stage.stage, "bold" if is_first else "")
    if stage.outcome is StageOutcome.HIDDEN:
        return [name, Text("?", DIM), words(stage.note, DIM)]
    if stage.outcome is StageOutcome.SAME:
        return [name, Text("=", DIM)]
    sides = zip((stage.actual, stage.expected), (ACTUAL, EXPECTED), strict=True)
    return [name, Text("≠", "bold"), *(_draw_side(pieces, style) for pieces, style in sides)]


def _draw_side(pieces: Sequence[str], style: str) -> Text:
    return Text(" | ").join(exact(piece, style) for piece in pieces) if pieces else Text("(none)", DIM)


def _draw_code_points(label: str, names: Sequence[str]) -> Text:
    return Text(f"{label} continues with {', '.join(names) or 'the end of the text'}", overflow="fold")
