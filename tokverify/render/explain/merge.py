"""Draw how byte-pair encoding merged the symbols of words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from tokverify.render.explain.fold import Fold, WordGroup, fold_middle
from tokverify.render.explain.part import (
    MAX_COMPETITORS,
    Detail,
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
    from rich.console import JustifyMethod, RenderableType

    from tokverify.report.explain import Merge, Merging, Pair, Stretch

_MAX_ROWS, _MAX_ROWS_FULL = 24, 1000
_MAX_WORDS = 12
_MAX_PARTS = 20


def draw_merges(_stretch: Stretch, items: Sequence[WordGroup | Fold], detail: Detail) -> RenderableType:
    """Draw words: each merge, and the pairs it was preferred to."""
    return Group(*spread([note(item) if isinstance(item, Fold) else _draw_group(item, detail) for item in items]))


def _draw_group(group: WordGroup, detail: Detail) -> RenderableType:
    reasons = dict.fromkeys(word.reason for word in group.words if word.reason is not None)
    parts = [*_draw_barriers(group), *(Text(reason, DIM) for reason in reasons), *_draw_mergings(group, detail)]
    return Group(word_heading(group), *(indent(part, 2) for part in parts))


def _draw_barriers(group: WordGroup) -> list[Text]:
    """Show between which words no merge is possible."""
    words = ["".join(word.merging.symbols) for word in group.words if word.merging]
    if len(words) <= 1:
        return []
    kept = fold_middle(words, "parts", _MAX_PARTS)
    parts = [note(item) if isinstance(item, Fold) else exact(item[1]) for item in kept]
    return [Text.assemble(("no merge can cross the bars: ", DIM), Text(" | ", DIM).join(parts), overflow="fold")]


def _draw_mergings(group: WordGroup, detail: Detail) -> Iterator[RenderableType]:
    mergings = [word.merging for word in group.words if word.merging]
    shown = [merging for merging in mergings if merging.merges or merging.byte_fallbacks]
    for item in fold_middle(shown, "parts", len(shown) if detail.full else _MAX_WORDS):
        if isinstance(item, Fold):
            yield note(item)
        else:
            yield from _draw_merging(item[1], detail)


def _draw_merging(merging: Merging, detail: Detail) -> Iterator[RenderableType]:
    if merging.merges:
        yield _draw_table(merging, detail)
    for fallback in merging.byte_fallbacks:
        pieces = ["(dropped)" if piece is None else piece for piece in fallback.pieces]
        lead = (" is not a piece; byte by byte: ", DIM)
        yield Text.assemble(exact(fallback.symbol, "bold"), lead, join_pieces(pieces))


def _draw_table(merging: Merging, detail: Detail) -> RenderableType:
    has_symbols = any(merge.symbols for merge in merging.merges)
    shows_ids = detail.steps and has_symbols
    drawn = table(*_columns(merging, detail, has_symbols=has_symbols, shows_ids=shows_ids))
    if has_symbols:
        before = [Text(), *([Text()] if detail.reference_ranks else []), Text()]
        drawn.add_row(*before, join_pieces(merging.symbols), *_draw_ids(merging.symbol_ids, shows_ids))
    for item in fold_middle(merging.merges, "merges", _MAX_ROWS_FULL if detail.full else _MAX_ROWS):
        if isinstance(item, Fold):
            drawn.add_row(Text(), note(item))
        else:
            drawn.add_row(*_draw_row(item[1], detail, shows_ids))
    return drawn


def _columns(
    merging: Merging, detail: Detail, *, has_symbols: bool, shows_ids: bool
) -> Iterator[tuple[str, JustifyMethod]]:
    yield merging.by, "right"
    if detail.reference_ranks:
        yield "reference's rank", "right"
    yield "merges", "left"
    yield "leaves" if has_symbols else "makes", "left"
    if shows_ids:
        yield "ids", "left"
    yield "preferred to", "left"


def _draw_ids(ids: Sequence[int | None], shown: bool) -> list[Text]:
    listed = ", ".join("-" if id is None else str(id) for id in ids)
    return [Text(f"[{listed}]", overflow="fold")] if shown else []


def _draw_row(merge: Merge, detail: Detail, shows_ids: bool) -> list[Text]:
    pair = merge.pair
    rank = Text("-" if pair.reference_rank is None else str(pair.reference_rank))
    merged = Text.assemble(exact(pair.left), (" + ", DIM), exact(pair.right), overflow="fold")
    if merge.symbols:
        result = join_pieces(merge.symbols, bold=merge.merged_index)
    else:
        result = exact(pair.left + pair.right, "bold")
    return [
        Text(format_weight(pair.weight)),
        *([rank] if detail.reference_ranks else []),
        merged,
        result,
        *_draw_ids(merge.symbol_ids, shows_ids),
        _draw_competitors(merge, detail),
    ]


def _draw_competitors(merge: Merge, detail: Detail) -> Text:
    limit = len(merge.competitors) if detail.full else MAX_COMPETITORS
    parts = [_draw_pair(pair, detail) for pair in merge.competitors[:limit]]
    if merge.pair.places > 1:
        parts.insert(0, Text(f"itself, {merge.pair.places - 1:,} × further right", DIM))
    return list_parts(parts, max(0, len(merge.competitors) - limit) + merge.competitors_left_out)


def _draw_pair(pair: Pair, detail: Detail) -> Text:
    places = f" × {pair.places:,}" if pair.places > 1 else ""
    rank = "-" if pair.reference_rank is None else pair.reference_rank
    reference = f"/{rank}" if detail.reference_ranks else ""
    return Text.assemble(exact(pair.left + pair.right), (f" {format_weight(pair.weight)}{places}{reference}", DIM))
