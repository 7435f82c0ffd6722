"""Draw how a model that sums scores or costs found the best path: the best piece at each position and its rivals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from tokverify.render.column import Columns
from tokverify.render.explain.fold import Fold, WordGroup, fold_middle
from tokverify.render.explain.part import MAX_COMPETITORS, Detail, format_weight, indent, list_parts, note
from tokverify.render.layout import DIM, exact, table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tokverify.report.explain import Candidate, Lattice, LatticeRow, Stretch
    from tokverify.report.explain_steps import LatticeEntry, LatticeStep, LatticeTrial


_MAX_ROWS, _MAX_ROWS_FULL = 40, 10_000
_MAX_STEPS = 40
_ON_PATH = "▸"
_NO_ID = -1


def draw_lattice(stretch: Stretch, items: Sequence[WordGroup | Fold], detail: Detail) -> RenderableType:
    """Draw the decision at each position of some words in one table, and then the path through it."""
    full = detail.full
    lattices = [word.lattice for word in stretch.words if word.lattice]
    by_score = lattices[0].by == "score"
    drawn = _start_table(by_score)
    if by_score:
        drawn.add_row(Text(), Text("0"), Text("(start)", DIM), Text(), Text(), Text(), Text("0"))
    for item in items:
        if isinstance(item, Fold):
            drawn.add_row(Text(), Text(), note(item))
            continue
        own = [word.lattice for word in item.words if word.lattice]
        _add_rows(drawn, [row for lattice in own for row in lattice.rows], by_score, full)
    path = [row.best for lattice in lattices for row in lattice.rows if row.on_path]
    steps = draw_steps(stretch, items) if detail.steps and by_score else []
    return Group(drawn, Text(), _draw_path(path, by_score, full), *steps)


def _start_table(by_score: bool) -> Columns:
    if by_score:
        columns = ("", "to", "best piece", "id", "from", "score", "sum", "preferred to")
    else:
        columns = ("", "from", "best piece", "id", "to", "cost", "cost to the end", "preferred to")
    left = {"", "best piece", "preferred to"}
    return table(*((column, "left" if column in left else "right") for column in columns))


def _add_rows(drawn: Columns, rows: Sequence[LatticeRow], by_score: bool, full: bool) -> None:
    for item in fold_middle(rows, "positions", _MAX_ROWS_FULL if full else _MAX_ROWS):
        if isinstance(item, Fold):
            drawn.add_row(Text(), Text(), note(item))
            continue
        row, best = item[1], item[1].best
        style = "bold" if row.on_path else ""
        far, near = best.span if by_score else reversed(best.span)
        drawn.add_row(
            Text(_ON_PATH if row.on_path else "", style),
            Text(str(near), style),
            _draw_piece(best, style),
            Text("" if best.id == _NO_ID else str(best.id), style),
            str(far),
            format_weight(best.weight),
            format_weight(best.total),
            _draw_competitors(row, by_score, full),
        )


def _draw_piece(candidate: Candidate, style: str) -> Text:
    if candidate.is_unknown:
        return Text.assemble(exact(candidate.piece, style), (" (unknown)", DIM), overflow="fold")
    return exact(candidate.piece, style)


def _draw_competitors(row: LatticeRow, by_score: bool, full: bool) -> Text:
    limit = len(row.competitors) if full else MAX_COMPETITORS
    parts = [_draw_competitor(competitor, by_score) for competitor in row.competitors[:limit]]
    return list_parts(parts, max(0, len(row.competitors) - limit) + row.competitors_left_out)


def _draw_competitor(competitor: Candidate, by_score: bool) -> Text:
    start, end = competitor.span
    position = f" from {start} " if by_score else f" to {end} "
    return Text.assemble(_draw_piece(competitor, ""), (f"{position}{format_weight(competitor.total)}", DIM))


def _draw_path(path: Sequence[Candidate], by_score: bool, full: bool) -> Text:
    """Show the pieces in the order in which they are found: from the end for scores, from the start for costs."""
    steps = sorted(path, key=lambda step: step.span[0], reverse=by_score)
    shown = fold_middle(steps, "steps", len(steps) if full else _MAX_STEPS)
    label, arrow = ("path from the end: ", " ← ") if by_score else ("path from the start: ", " → ")
    return Text.assemble((label, DIM), Text(arrow).join(map(_draw_step, shown)), overflow="fold")


def _draw_step(item: tuple[int, Candidate] | Fold) -> Text:
    if isinstance(item, Fold):
        return note(item)
    step = item[1]
    start, end = step.span
    return Text.assemble(exact(step.piece, "bold"), (f" {start}-{end}", DIM))


_LEGEND = (
    "step by step: from each position, every piece that fits is tried; it becomes the entry at its end if its sum is "
    "greater than the sum there"
)


def draw_steps(stretch: Stretch, items: Sequence[WordGroup | Fold]) -> Iterator[RenderableType]:
    """Draw the initial state, and each step of some words of a stretch."""
    lattices = [word.lattice for word in stretch.words if word.lattice]
    yield Text()
    yield Text(_LEGEND, DIM, overflow="fold")
    yield Text()
    if lattices[0].initial:
        yield _draw_initial(lattices[0].initial, len(stretch.normalized.encode("utf-8", "surrogateescape")))
    for item in items:
        if isinstance(item, Fold):
            yield note(item)
            continue
        for word in item.words:
            if word.lattice:
                yield from _draw_lattice(word.lattice)


def _draw_initial(initial: LatticeEntry, size: int) -> Text:
    return Text(
        f"initially  {size + 1:,} entries, 0 to {size:,}: each has the id {initial.id} (unknown), starts at 0 and has"
        f" the lowest sum, {initial.total:.6g} (-FLT_MAX in older llama.cpp); the sum of entry 0 is 0",
        overflow="fold",
    )


def _draw_lattice(lattice: Lattice) -> Iterator[RenderableType]:
    if not lattice.steps:
        yield Text("... a word that is too long to show its steps ...", DIM)
    for step in lattice.steps:
        yield Text.assemble("from ", (str(step.start), "bold"))
        yield indent(_draw_trials(step))
        yield indent(_draw_entries(step.entries))


def _draw_trials(step: LatticeStep) -> RenderableType:
    numbers = ("id", "to", "score", "sum")
    drawn = table(("piece", "left"), *((column, "right") for column in numbers), ("", "left"))
    for trial in step.trials:
        weight, total = format_weight(trial.weight), format_weight(trial.total)
        drawn.add_row(exact(trial.piece), str(trial.id), str(trial.end), weight, total, _outcome(trial))
    return drawn


def _outcome(trial: LatticeTrial) -> Text:
    return Text("becomes the entry", "bold") if trial.is_best else Text("not greater", DIM)


def _draw_entries(entries: Sequence[LatticeEntry]) -> Text:
    """List the entries as `end: id from start sum`."""
    parts = [
        Text.assemble((f"{entry.end}:", "bold"), f" {entry.id} from {entry.start} {format_weight(entry.total)}")
        for entry in entries
    ]
    listed = Text("; ").join(parts) if parts else Text("none")
    return Text.assemble(("entries  ", DIM), listed, ("; the others are as at first", DIM), overflow="fold")
