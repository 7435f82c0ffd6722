"""Draw how byte-pair encoding joined the symbols of words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from tokverify.engine.trace import Merging, Whole
from tokverify.render.explain.fold import Fold, middle_out
from tokverify.render.explain.part import RIVALS, heading, indented, lines, listed, note, spaced, weight
from tokverify.render.layout import DIM, exact, table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tokverify.engine.trace import Join, Pair, Stretch
    from tokverify.explain.explanation import Explanation
    from tokverify.render.explain.fold import Shown

_MAX_ROWS, _MAX_ROWS_FULL = 24, 1000
_MAX_PARTS = 12
_MAX_STATE = 20
"""Symbols; in longer words what is left after each merge would fill the screen."""


def draw_merges(
    explained: Explanation, stretch: Stretch, items: Sequence[Shown | Fold], *, full: bool
) -> RenderableType:
    """Show words, each merge with the pairs that it was preferred to."""
    drawn = [note(item) if isinstance(item, Fold) else _shown(explained, stretch, item, full) for item in items]
    return Group(*lines(drawn))


def _shown(explained: Explanation, stretch: Stretch, shown: Shown, full: bool) -> RenderableType:
    reasons = dict.fromkeys(word.how.reason for word in shown.words if isinstance(word.how, Whole))
    parts = [*_uncrossed(shown), *(Text(reason, DIM) for reason in reasons), *_mergings(explained, shown, full)]
    return Group(heading(explained, stretch, shown), *(indented(part, 2) for part in parts))


def _uncrossed(shown: Shown) -> list[Text]:
    words = ["".join(word.how.symbols) for word in shown.words if isinstance(word.how, Merging)]
    if len(words) <= 1:
        return []
    kept = middle_out(words, "parts", _MAX_STATE)
    parts = [note(item) if isinstance(item, Fold) else exact(item[1]) for item in kept]
    return [Text.assemble(("no merge can cross the bars: ", DIM), Text(" | ", DIM).join(parts), overflow="fold")]


def _mergings(explained: Explanation, shown: Shown, full: bool) -> Iterator[RenderableType]:
    hows = [word.how for word in shown.words if isinstance(word.how, Merging)]
    told = [how for how in hows if how.joins or how.spelled]
    for item in middle_out(told, "parts", len(told) if full else _MAX_PARTS):
        if isinstance(item, Fold):
            yield note(item)
        else:
            yield from _merging(explained, item[1], full)


def _merging(explained: Explanation, how: Merging, full: bool) -> Iterator[RenderableType]:
    if how.joins:
        yield _joins(how, full)
    for spelled in how.spelled:
        pieces = ["(dropped)" if id is None else explained.pieces[id] for id in spelled.ids]
        yield Text.assemble(exact(spelled.symbol, "bold"), (" is no piece; byte by byte: ", DIM), spaced(pieces))


def _joins(merging: Merging, full: bool) -> RenderableType:
    states = _states(merging) if len(merging.symbols) <= _MAX_STATE else None
    drawn = table(
        (merging.by, "right"), ("joins", "left"), ("leaves" if states else "makes", "left"), ("ahead of", "left")
    )
    if states:
        drawn.add_row(Text(), Text(), spaced(merging.symbols))
    for item in middle_out(merging.joins, "merges", _MAX_ROWS_FULL if full else _MAX_ROWS):
        if isinstance(item, Fold):
            drawn.add_row(Text(), note(item))
            continue
        index, join = item
        pair = Text.assemble(exact(join.pair.left), (" + ", DIM), exact(join.pair.right), overflow="fold")
        result = states[index] if states else exact(join.pair.joined, "bold")
        drawn.add_row(weight(join.pair.weight), pair, result, _rivals(join, full))
    return drawn


def _states(merging: Merging) -> list[Text]:
    """Write the symbols after each merge, the new one bold."""
    symbols = dict(enumerate(merging.symbols))
    states = []
    for join in merging.joins:
        following = min(index for index in symbols if index > join.index)
        symbols[join.index] += symbols.pop(following)
        order = sorted(symbols)
        states.append(spaced([symbols[index] for index in order], bold=order.index(join.index)))
    return states


def _rivals(join: Join, full: bool) -> Text:
    most = len(join.rivals) if full else RIVALS
    parts = [_pair(pair) for pair in join.rivals[:most]]
    if join.pair.places > 1:
        parts.insert(0, Text(f"itself, {join.pair.places - 1:,} × further right", DIM))
    return listed(parts, max(0, len(join.rivals) - most) + join.left_out)


def _pair(pair: Pair) -> Text:
    places = f" × {pair.places:,}" if pair.places > 1 else ""
    return Text.assemble(exact(pair.joined), (f" {weight(pair.weight)}{places}", DIM))
