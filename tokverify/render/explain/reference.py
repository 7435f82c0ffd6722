"""Draw a reference's stages beside ours, and the first one at which they part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from tokverify.explain.stages import Outcome, common_length
from tokverify.render.alignment_table import alignment_table
from tokverify.render.explain.part import indented, title
from tokverify.render.layout import ACTUAL, DIM, EXPECTED, exact, table, words
from tokverify.text.visible import code_points

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tokverify.explain.stages import Parting, StageComparison

_CODE_POINTS = 3


def reference_section(parting: Parting, *, full: bool) -> RenderableType:
    """Compare stage by stage; where the results differ, align them."""
    if parting.first is None:
        summary = Text.assemble(words(parting.name), " gives the same ids", style="green")
    else:
        summary = Text.assemble(
            words(parting.name), f" gives other ids; the first stage to part is: {parting.first}", style="red"
        )
    parts: list[RenderableType] = [title(7, "reference", summary), indented(_stages(parting))]
    parts += [indented(words(note, DIM)) for note in parting.notes]
    first = next((stage for stage in parting.stages if stage.stage == parting.first), None)
    if first is not None and first.stage == "normalization":
        same = common_length(first.actual[0], first.expected[0])
        parts.append(indented(_code_points("actual", first.actual[0][same:])))
        parts.append(indented(_code_points("expected", first.expected[0][same:])))
    if parting.difference:
        parts += [Text(), indented(alignment_table(parting.difference, "expected", fold=not full))]
    return Group(*parts)


def _stages(parting: Parting) -> RenderableType:
    drawn = table(("stage", "left"), ("", "left"), ("actual", "left"), ("expected", "left"))
    for stage in parting.stages:
        drawn.add_row(*_stage(stage, is_first=stage.stage == parting.first))
    return drawn


def _stage(stage: StageComparison, *, is_first: bool) -> list[Text]:
    name = Text(stage.stage, "bold" if is_first else "")
    if stage.outcome is Outcome.HIDDEN:
        return [name, Text("?", DIM), words(stage.note, DIM)]
    if stage.outcome is Outcome.SAME:
        return [name, Text("=", DIM)]
    sides = zip((stage.actual, stage.expected), (ACTUAL, EXPECTED), strict=True)
    return [name, Text("≠", "bold"), *(_side(pieces, style) for pieces, style in sides)]


def _side(pieces: Sequence[str], style: str) -> Text:
    return Text(" | ").join(exact(piece, style) for piece in pieces) if pieces else Text("(none)", DIM)


def _code_points(label: str, text: str) -> Text:
    names = ", ".join(code_points(text[:_CODE_POINTS])) or "end of the text"
    return Text(f"{label} goes on with {names}", overflow="fold")
