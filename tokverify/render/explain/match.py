"""Draw how the longest piece was found at each position of a word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from tokverify.render.explain.fold import Fold, WordGroup, fold_middle
from tokverify.render.explain.part import MAX_COMPETITORS, Detail, indent, list_parts, note, spread, word_heading
from tokverify.render.layout import DIM, exact, table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tokverify.report.explain import Attempt, Stretch

_MAX_ROWS, _MAX_ROWS_FULL = 24, 1000


def draw_matches(_stretch: Stretch, items: Sequence[WordGroup | Fold], detail: Detail) -> RenderableType:
    """Draw words: each piece taken, and the longer candidates that are not pieces."""
    return Group(*spread([note(item) if isinstance(item, Fold) else _draw_group(item, detail.full) for item in items]))


def _draw_group(group: WordGroup, full: bool) -> RenderableType:
    matchings = [word.matching for word in group.words if word.matching]
    attempts = [attempt for matching in matchings for attempt in matching.attempts]
    heading = word_heading(group)
    if not any(attempt.missing for attempt in attempts) and len(attempts) == 1:
        return heading
    drawn = table(("takes", "left"), ("longer, but not a piece", "left"))
    for item in fold_middle(attempts, "pieces", _MAX_ROWS_FULL if full else _MAX_ROWS):
        if isinstance(item, Fold):
            drawn.add_row(note(item))
        else:
            drawn.add_row(_draw_found(item[1]), _draw_missing(item[1], full))
    parts: list[RenderableType] = [heading, indent(drawn, 2)]
    if not all(matching.complete for matching in matchings):
        reason = Text("a position where no piece fits makes the whole word unknown", DIM)
        parts.append(indent(reason, 2))
    return Group(*parts)


def _draw_found(attempt: Attempt) -> Text:
    return Text("(nothing)", DIM) if attempt.found is None else exact(attempt.found, "bold")


def _draw_missing(attempt: Attempt, full: bool) -> Text:
    limit = len(attempt.missing) if full else MAX_COMPETITORS
    parts = [exact(candidate) for candidate in attempt.missing[:limit]]
    return list_parts(parts, max(0, len(attempt.missing) - limit) + attempt.missing_left_out)
