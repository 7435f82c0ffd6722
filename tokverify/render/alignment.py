"""Lay out two aligned tokenizations in rows, one token per side, and fold what does not help the reader."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice, zip_longest
from operator import attrgetter
from typing import TypeVar

from rich.console import JustifyMethod
from rich.text import Text

from tokverify.render.layout import ACTUAL, DIM, EXPECTED, Columns, exact
from tokverify.report.difference import NO_TOKEN, Block, Difference
from tokverify.text.visible import visible
from tokverify.text.wording import plural
from tokverify.tokenizer import Token

Line = TypeVar("Line")
_CONTEXT = 2
_MIN_REPEATS = 4
_MAX_ROWS, _LAST_ROWS = 200, 40
_SHOWN = attrgetter("id", "piece")


@dataclass(frozen=True, slots=True)
class Cell:
    """A token, and how often it is repeated."""

    token: Token
    repeats: int = 1


@dataclass(frozen=True, slots=True)
class Row:
    """One line of an alignment."""

    equal: bool
    starts_block: bool
    """Whether this is the first row of a differing block."""
    actual: Cell | None
    expected: Cell | None


@dataclass(frozen=True, slots=True)
class Fold:
    """Rows or items that are left out."""

    what: str
    """How many of which kind, such as `214 equal` or `5 words of one token each`."""


def rows(difference: Difference, *, fold: bool) -> list[Row | Fold]:
    """Return the lines of an alignment.

    With `fold`, equal tokens far from a difference, repeats of a token or a difference, and the middle of a very long
    alignment are replaced by a `Fold`.
    """
    lines = _rows(difference, fold)
    if not fold:
        return list(lines)
    first = list(islice(lines, _MAX_ROWS - _LAST_ROWS))
    rest = deque(enumerate(lines, start=1), maxlen=_LAST_ROWS + 1)
    last = [line for _, line in rest]
    left_out = rest[-1][0] - _LAST_ROWS if rest else 0
    if left_out <= 1:
        return [*first, *last]
    return [*first, Fold(f"{left_out:,} more lines, shown with -v"), *last[1:]]


def _rows(difference: Difference, fold: bool) -> Iterator[Row | Fold]:
    last = len(difference.blocks) - 1
    index = 0
    for block, same in groupby(difference.blocks):
        repeats = len(list(same))
        if block.equal:
            yield from _equal_rows(block, fold, head=index > 0, tail=index < last)
        else:
            shown = 1 if fold and repeats >= _MIN_REPEATS else repeats
            for _ in range(shown):
                yield from _differing_rows(block, fold)
            if shown < repeats:
                yield Fold(f"{repeats - shown:,} more like this")
        index += repeats


def _equal_rows(block: Block, fold: bool, *, head: bool, tail: bool) -> Sequence[Row | Fold]:
    lines = [
        Row(True, False, Cell(actual), Cell(expected))
        for actual, expected in zip(block.actual, block.expected, strict=True)
    ]
    return fold_equal(lines, lambda count: f"{count:,} equal", head=head, tail=tail) if fold else lines


def fold_equal(
    lines: Sequence[Line], describe: Callable[[int], str], *, head: bool, tail: bool
) -> Sequence[Line | Fold]:
    """Return equal lines; those far from what differs before (`head`) and after them (`tail`) are left out."""
    start, end = _CONTEXT * head, len(lines) - _CONTEXT * tail
    # A line that says "1 equal" would not be shorter than what it replaces.
    return [*lines[:start], Fold(describe(end - start)), *lines[end:]] if end - start > 1 else lines


def _differing_rows(block: Block, fold: bool) -> Iterator[Row]:
    pairs = zip_longest(_cells(block.actual, fold), _cells(block.expected, fold))
    for index, (actual, expected) in enumerate(pairs):
        yield Row(False, index == 0, actual, expected)


def _cells(tokens: Sequence[Token], fold: bool) -> Iterator[Cell]:
    for _, group in groupby(tokens, key=_SHOWN):
        token, *others = group
        repeats = 1 + len(others)
        if fold and repeats >= _MIN_REPEATS:
            yield Cell(token, repeats)
        else:
            yield from [Cell(token)] * repeats


def alignment_table(difference: Difference, other: str, *, fold: bool) -> Columns:
    """Draw a difference between actual and `other`, one token per line and side.

    `=` marks equal tokens, `≠` the first line of each stretch that differs and `┆` its further lines. The bytes of the
    tokens are shown if their pieces do not show them.
    """
    tokens = (token for block in difference.blocks for token in (*block.actual, *block.expected))
    with_bytes = any(visible(token.piece) != visible(token.token_bytes) for token in tokens)
    columns: list[tuple[str, JustifyMethod]] = [("", "left")]
    for name, count in (
        ("actual", sum(len(block.actual) for block in difference.blocks)),
        (other, sum(len(block.expected) for block in difference.blocks)),
    ):
        columns += [("id", "right"), (f"{name}: {plural(count, 'token')}", "left")]
        columns += [("stands for", "left")] if with_bytes else []
    drawn = Columns(*columns)
    for row in rows(difference, fold=fold):
        if isinstance(row, Fold):
            drawn.add_row(Text(), Text(), Text(f"... {row.what} ...", DIM))
        else:
            drawn.add_row(*_draw_row(row, with_bytes))
    return drawn


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
    piece = exact(token.piece, style, empty="(no piece)")
    if cell.repeats > 1:
        piece = Text.assemble(piece, (f" × {cell.repeats:,}", "bold"), overflow="fold")
    cells = [Text("none" if token.id == NO_TOKEN else str(token.id), style), piece]
    return [*cells, exact(token.token_bytes, style)] if with_bytes else cells
