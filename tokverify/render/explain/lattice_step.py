"""Draw a lattice step by step, from its initial state: the pieces tried at each position, and the entries after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from tokverify.render.explain.fold import Fold, WordGroup
from tokverify.render.explain.part import format_weight, indent, note
from tokverify.render.layout import DIM, exact, table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tokverify.report.explain import Lattice, Stretch
    from tokverify.report.explain_steps import LatticeEntry, LatticeStep, LatticeTrial

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
