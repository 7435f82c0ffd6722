"""Record the single steps of a normalizer and of a lattice as plain data for the report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tokverify.engine.family import NO_TOKEN
from tokverify.engine.models.lattice_trace import LOWEST
from tokverify.engine.trace import Candidate, Step
from tokverify.report.explain_steps import CharsmapSearch, CharsmapStep, LatticeEntry, LatticeStep, LatticeTrial
from tokverify.text.utf8 import to_text

if TYPE_CHECKING:
    from tokverify.engine.charsmap import CharsmapWalk, WalkStep


def record_searches(walks: Iterable[CharsmapWalk]) -> tuple[CharsmapSearch, ...]:
    """Record each different search once, with all places where it happens."""
    starts: dict[tuple[int, tuple[WalkStep, ...]], list[int]] = {}
    for walk in walks:
        starts.setdefault((walk.root, walk.steps), []).append(walk.start)
    return tuple(_record_search(root, steps, places) for (root, steps), places in starts.items())


def _record_search(root: int, steps: tuple[WalkStep, ...], starts: Iterable[int]) -> CharsmapSearch:
    endings = [index for index, step in enumerate(steps) if step.replacement is not None]
    recorded = tuple(map(_record_charsmap_step, steps))
    length = endings[-1] + 1 if endings else 0
    return CharsmapSearch(tuple(starts), root, recorded, length, recorded[length - 1].replacement if length else None)


def _record_charsmap_step(step: WalkStep) -> CharsmapStep:
    replacement = None if step.replacement is None else to_text(step.replacement)
    return CharsmapStep(step.byte, step.node, step.label, step.base, replacement)


def initial_entry(unknown_id: int | None) -> LatticeEntry:
    """Return the entry that every position has before the first step."""
    return LatticeEntry(end=0, id=NO_TOKEN if unknown_id is None else unknown_id, start=0, total=LOWEST)


def record_step(step: Step) -> LatticeStep:
    """Record the pieces that start at one position, and all entries after they were tried."""
    entries = tuple(LatticeEntry(entry.end, entry.id, entry.start, entry.total) for entry in step.entries)
    chosen = {(entry.end, entry.start) for entry in entries}
    return LatticeStep(step.start, tuple(_record_trial(trial, chosen) for trial in step.candidates), entries)


def _record_trial(trial: Candidate, chosen: Iterable[tuple[int, int]]) -> LatticeTrial:
    is_best = (trial.end, trial.start) in chosen
    return LatticeTrial(trial.id, trial.piece, trial.end, trial.weight, trial.total, is_best)
