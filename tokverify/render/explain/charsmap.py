"""Draw the searches in the charsmap: the walk through its double array, byte by byte."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from tokverify.render.column import Columns
from tokverify.render.explain.fold import Fold, fold_middle
from tokverify.render.explain.part import indent, note
from tokverify.render.layout import DIM, exact, table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tokverify.report.explain import Stretch
    from tokverify.report.explain_steps import CharsmapSearch, CharsmapStep

_MAX_SEARCHES = 24
_MAX_STARTS = 4
_LEGEND = (
    "the charsmap is an array: the node of a byte is the base before it, XOR the byte; a node with another label ends"
    " the search; a string of the map ends at a leaf, and the longest one is replaced; the root is the base for the"
    " first byte"
)


def draw_searches(stretches: Sequence[Stretch], *, full: bool) -> Iterator[RenderableType]:
    """Draw the searches of each stretch in one table; nothing for models without a charsmap."""
    searches = [search for stretch in stretches for search in stretch.charsmap]
    if not searches:
        return
    columns = ("node", "label", "base")
    drawn = table(("at byte", "left"), ("byte", "left"), *((column, "right") for column in columns), ("", "left"))
    for item in fold_middle(searches, "searches", len(searches) if full else _MAX_SEARCHES):
        if isinstance(item, Fold):
            drawn.add_row(note(item))
        else:
            _add_search(drawn, item[1])
    heading = Text.assemble(("charsmap", "bold"), (f"  root {searches[0].root}: {_LEGEND}", DIM), overflow="fold")
    yield Group(indent(heading), indent(drawn))


def _add_search(drawn: Columns, search: CharsmapSearch) -> None:
    starts = [str(start) for start in search.starts[:_MAX_STARTS]]
    more = [f"{len(search.starts) - len(starts):,} more"] if len(search.starts) > len(starts) else []
    where = Text(", ".join([*starts, *more]))
    for index, step in enumerate(search.steps, start=1):
        base = Text("" if step.base is None else str(step.base))
        taken = index == search.length
        drawn.add_row(where, _draw_byte(step.byte), str(step.node), _draw_byte(step.label), base, _outcome(step, taken))
        where = Text()


def _draw_byte(byte: int) -> Text:
    return Text.assemble(f"{byte} ", exact(bytes([byte]) if byte else "", DIM))


def _outcome(step: CharsmapStep, taken: bool) -> Text:
    if step.base is None:
        return Text("another label: no such string", DIM)
    if step.replacement is None:
        return Text("no leaf", DIM)
    text = Text.assemble("leaf: ", exact(step.replacement, "bold") if step.replacement else Text("(nothing)", DIM))
    return text if taken else Text.assemble(text, (", but a longer string fits", DIM))
