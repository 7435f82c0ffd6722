"""Draw how the longest piece was looked for at each place of a word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from tokverify.engine.trace import Matching
from tokverify.render.explain.fold import Fold, middle_out
from tokverify.render.explain.part import RIVALS, heading, indented, lines, listed, note
from tokverify.render.layout import DIM, exact, table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tokverify.engine.trace import Attempt, Stretch
    from tokverify.explain.explanation import Explanation
    from tokverify.render.explain.fold import Shown

_MAX_ROWS, _MAX_ROWS_FULL = 24, 1000


def draw_matches(
    explained: Explanation, stretch: Stretch, items: Sequence[Shown | Fold], *, full: bool
) -> RenderableType:
    """Show words, each piece taken with the longer ones that do not exist."""
    drawn = [note(item) if isinstance(item, Fold) else _shown(explained, stretch, item, full) for item in items]
    return Group(*lines(drawn))


def _shown(explained: Explanation, stretch: Stretch, shown: Shown, full: bool) -> RenderableType:
    matchings = [word.how for word in shown.words if isinstance(word.how, Matching)]
    attempts = [attempt for matching in matchings for attempt in matching.attempts]
    title = heading(explained, stretch, shown)
    if not any(attempt.missed for attempt in attempts) and len(attempts) == 1:
        return title
    drawn = table(("takes", "left"), ("longer, but no piece", "left"))
    for item in middle_out(attempts, "pieces", _MAX_ROWS_FULL if full else _MAX_ROWS):
        if isinstance(item, Fold):
            drawn.add_row(note(item))
        else:
            drawn.add_row(_found(item[1]), _missed(item[1], full))
    reason = Text("one place that no piece fits makes the whole word unknown", DIM)
    spelled = all(matching.spelled for matching in matchings)
    return Group(title, indented(drawn, 2), *([] if spelled else [indented(reason, 2)]))


def _found(attempt: Attempt) -> Text:
    return Text("(nothing)", DIM) if attempt.found is None else exact(attempt.found, "bold")


def _missed(attempt: Attempt, full: bool) -> Text:
    most = len(attempt.missed) if full else RIVALS
    parts = [exact(missed) for missed in attempt.missed[:most]]
    return listed(parts, max(0, len(attempt.missed) - most) + attempt.left_out)
