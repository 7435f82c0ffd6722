"""Draw how byte-pair encoding merged the symbols of words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from tokverify.render.explain.fold import Fold, fold_middle
from tokverify.render.explain.part import (
    MAX_COMPETITORS,
    format_weight,
    indent,
    join_pieces,
    list_parts,
    note,
    spread,
    word_heading,
)
from tokverify.render.layout import DIM, exact, table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tokverify.render.explain.fold import WordGroup
    from tokverify.report.explain import Merge, Merging, Pair, Stretch

_MAX_ROWS, _MAX_ROWS_FULL = 24, 1000
_MAX_WORDS = 12
_MAX_PARTS = 20


def draw_merges(_stretch: Stretch, items: Sequence[WordGroup | Fold], *, full: bool) -> RenderableType:
    """Draw words: each merge, and the pairs it was preferred to."""
    return Group(*spread([note(item) if isinstance(item, Fold) else _draw_group(item, full) for item in items]))


def _draw_group(group: WordGroup, full: bool) -> RenderableType:
    reasons = dict.fromkeys(word.reason for word in group.words if word.reason is not None)
    parts = [*_draw_barriers(group), *(Text(reason, DIM) for reason in reasons), *_draw_mergings(group, full)]
    return Group(word_heading(group), *(indent(part, 2) for part in parts))


def _draw_barriers(group: WordGroup) -> list[Text]:
    """Show between which words no merge is possible."""
    words = ["".join(word.merging.symbols) for word in group.words if word.merging]
    if len(words) <= 1:
        return []
    kept = fold_middle(words, "parts", _MAX_PARTS)
    parts = [note(item) if isinstance(item, Fold) else exact(item[1]) for item in kept]
    return [Text.assemble(("no merge can cross the bars: ", DIM), Text(" | ", DIM).join(parts), overflow="fold")]


def _draw_mergings(group: WordGroup, full: bool) -> Iterator[RenderableType]:
    mergings = [word.merging for word in group.words if word.merging]
    shown = [merging for merging in mergings if merging.merges or merging.byte_fallbacks]
    for item in fold_middle(shown, "parts", len(shown) if full else _MAX_WORDS):
        if isinstance(item, Fold):
            yield note(item)
        else:
            yield from _draw_merging(item[1], full)


def _draw_merging(merging: Merging, full: bool) -> Iterator[RenderableType]:
    if merging.merges:
        yield _draw_table(merging, full)
    for fallback in merging.byte_fallbacks:
        pieces = ["(dropped)" if piece is None else piece for piece in fallback.pieces]
        lead = (" is not a piece; byte by byte: ", DIM)
        yield Text.assemble(exact(fallback.symbol, "bold"), lead, join_pieces(pieces))


def _draw_table(merging: Merging, full: bool) -> RenderableType:
    has_symbols = any(merge.symbols for merge in merging.merges)
    result = "leaves" if has_symbols else "makes"
    drawn = table((merging.by, "right"), ("merges", "left"), (result, "left"), ("preferred to", "left"))
    if has_symbols:
        drawn.add_row(Text(), Text(), join_pieces(merging.symbols))
    for item in fold_middle(merging.merges, "merges", _MAX_ROWS_FULL if full else _MAX_ROWS):
        if isinstance(item, Fold):
            drawn.add_row(Text(), note(item))
        else:
            drawn.add_row(*_draw_row(item[1], full))
    return drawn


def _draw_row(merge: Merge, full: bool) -> list[Text]:
    pair = merge.pair
    merged = Text.assemble(exact(pair.left), (" + ", DIM), exact(pair.right), overflow="fold")
    if merge.symbols:
        result = join_pieces(merge.symbols, bold=merge.merged_index)
    else:
        result = exact(pair.left + pair.right, "bold")
    return [Text(format_weight(pair.weight)), merged, result, _draw_competitors(merge, full)]


def _draw_competitors(merge: Merge, full: bool) -> Text:
    limit = len(merge.competitors) if full else MAX_COMPETITORS
    parts = [_draw_pair(pair) for pair in merge.competitors[:limit]]
    if merge.pair.places > 1:
        parts.insert(0, Text(f"itself, {merge.pair.places - 1:,} × further right", DIM))
    return list_parts(parts, max(0, len(merge.competitors) - limit) + merge.competitors_left_out)


def _draw_pair(pair: Pair) -> Text:
    places = f" × {pair.places:,}" if pair.places > 1 else ""
    return Text.assemble(exact(pair.left + pair.right), (f" {format_weight(pair.weight)}{places}", DIM))
