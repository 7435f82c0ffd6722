"""Draw two aligned tokenizations side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from tokverify.render.alignment import Cell, Fold, Row, rows
from tokverify.render.column import Columns
from tokverify.render.layout import ACTUAL, DIM, EXPECTED, exact, table
from tokverify.report.difference import NO_TOKEN, Difference
from tokverify.text.visible import visible
from tokverify.text.wording import plural
from tokverify.tokenizer import Token

if TYPE_CHECKING:
    from rich.console import JustifyMethod


def alignment_table(difference: Difference, other: str, *, fold: bool) -> Columns:
    """Draw a difference between actual and `other`, one token per line and side.

    `=` marks equal tokens, `≠` the first line of each stretch that differs and `┆` its further lines. The bytes of the
    tokens are shown if their pieces do not show them.
    """
    with_bytes = any(visible(token.piece) != visible(token.token_bytes) for token in _all_tokens(difference))
    columns: list[tuple[str, JustifyMethod]] = [("", "left")]
    for name, count in (
        ("actual", sum(len(block.actual) for block in difference.blocks)),
        (other, sum(len(block.expected) for block in difference.blocks)),
    ):
        columns += [("id", "right"), (f"{name}: {plural(count, 'token')}", "left")]
        columns += [("stands for", "left")] if with_bytes else []
    drawn = table(*columns)
    for row in rows(difference, fold=fold):
        drawn.add_row(*(_draw_fold(row) if isinstance(row, Fold) else _draw_row(row, with_bytes)))
    return drawn


def _all_tokens(difference: Difference) -> Iterator[Token]:
    for block in difference.blocks:
        yield from block.actual
        yield from block.expected


def _draw_fold(fold: Fold) -> list[Text]:
    return [Text(), Text(), Text(f"... {fold.what} ...", DIM)]


def _draw_row(row: Row, with_bytes: bool) -> list[Text]:
    if row.equal:
        mark, actual, expected = Text("=", DIM), DIM, DIM
    else:
        mark, actual, expected = Text("≠" if row.starts_block else "┆", "bold"), ACTUAL, EXPECTED
    return [mark, *_draw_cell(row.actual, actual, with_bytes), *_draw_cell(row.expected, expected, with_bytes)]


def _draw_cell(cell: Cell | None, style: str, with_bytes: bool) -> list[Text]:
    if cell is None:
        return [Text()] * (2 + with_bytes)
    token = cell.token
    piece = exact(token.piece, style) if token.piece else Text("(no piece)", DIM)
    if cell.repeats > 1:
        piece = Text.assemble(piece, (f" × {cell.repeats:,}", "bold"), overflow="fold")
    cells = [Text("none" if token.id == NO_TOKEN else str(token.id), style), piece]
    return [*cells, exact(token.token_bytes, style)] if with_bytes else cells
