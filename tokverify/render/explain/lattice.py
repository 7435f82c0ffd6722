"""Draw how a model that adds up scores or costs found the best way: the best piece at each place, and what it beat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from tokverify.engine.trace import Lattice
from tokverify.render.explain.fold import Fold, middle_out
from tokverify.render.explain.part import RIVALS, listed, note, weight
from tokverify.render.layout import DIM, exact, table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tokverify.engine.trace import Candidate, Row, Stretch
    from tokverify.explain.explanation import Explanation
    from tokverify.render.column import Columns
    from tokverify.render.explain.fold import Shown

_MAX_ROWS, _MAX_ROWS_FULL = 40, 10_000
_MAX_STEPS = 40
_TAKEN = "▸"
_SPELLED = -1


def draw_lattice(
    explained: Explanation, stretch: Stretch, items: Sequence[Shown | Fold], *, full: bool
) -> RenderableType:
    """Show the decision at each place of some words in one table, and then the way that was taken through it."""
    lattices = [word.how for word in stretch.trace.words if isinstance(word.how, Lattice)]
    by_score = lattices[0].by == "score"
    drawn = _table(by_score)
    if by_score:
        drawn.add_row(Text(), Text("0"), Text("(beginning)", DIM), Text(), Text(), Text(), Text("0"))
    for item in items:
        if isinstance(item, Fold):
            drawn.add_row(Text(), Text(), note(item))
            continue
        own = [word.how for word in item.words if isinstance(word.how, Lattice)]
        _add_rows(drawn, explained, [row for lattice in own for row in lattice.rows], by_score, full)
    taken = [row.best for lattice in lattices for row in lattice.rows if row.on_path]
    return Group(drawn, Text(), _path(taken, by_score, full))


def _table(by_score: bool) -> Columns:
    if not by_score:
        columns = ("", "from", "best piece", "id", "to", "cost", "cost to the end", "ahead of")
    else:
        columns = ("", "to", "best piece", "id", "from", "score", "sum", "ahead of")
    left = {"", "best piece", "ahead of"}
    return table(*((column, "left" if column in left else "right") for column in columns))


def _add_rows(drawn: Columns, explained: Explanation, rows: Sequence[Row], by_score: bool, full: bool) -> None:
    for item in middle_out(rows, "places", _MAX_ROWS_FULL if full else _MAX_ROWS):
        if isinstance(item, Fold):
            drawn.add_row(Text(), Text(), note(item))
            continue
        row, best = item[1], item[1].best
        style = "bold" if row.on_path else ""
        near, far = (best.end, best.start) if by_score else (best.start, best.end)
        drawn.add_row(
            Text(_TAKEN if row.on_path else "", style),
            Text(str(near), style),
            _piece(best, style, explained),
            Text("" if best.id == _SPELLED else str(best.id), style),
            str(far),
            weight(best.weight),
            weight(best.total),
            _rivals(row, by_score, full, explained),
        )


def _piece(candidate: Candidate, style: str, explained: Explanation) -> Text:
    if _is_unknown(candidate, explained):
        return Text.assemble(exact(candidate.piece, style), (" (unknown)", DIM), overflow="fold")
    return exact(candidate.piece, style)


def _is_unknown(candidate: Candidate, explained: Explanation) -> bool:
    return candidate.id == explained.unknown_id


def _rivals(row: Row, by_score: bool, full: bool, explained: Explanation) -> Text:
    most = len(row.rivals) if full else RIVALS
    parts = [_rival(rival, by_score, explained) for rival in row.rivals[:most]]
    return listed(parts, max(0, len(row.rivals) - most) + row.left_out)


def _rival(rival: Candidate, by_score: bool, explained: Explanation) -> Text:
    place = f" from {rival.start} " if by_score else f" to {rival.end} "
    return Text.assemble(_piece(rival, "", explained), (f"{place}{weight(rival.total)}", DIM))


def _path(taken: Sequence[Candidate], by_score: bool, full: bool) -> Text:
    """Show the pieces in the order in which they are found: from the end back, or from the beginning on."""
    steps = sorted(taken, key=lambda step: step.start, reverse=by_score)
    shown = middle_out(steps, "steps", len(steps) if full else _MAX_STEPS)
    label, arrow = ("back from the end: ", " ← ") if by_score else ("on from the beginning: ", " → ")
    return Text.assemble((label, DIM), Text(arrow).join(map(_step, shown)), overflow="fold")


def _step(item: tuple[int, Candidate] | Fold) -> Text:
    if isinstance(item, Fold):
        return note(item)
    step = item[1]
    return Text.assemble(exact(step.piece, "bold"), (f" {step.start}-{step.end}", DIM))
