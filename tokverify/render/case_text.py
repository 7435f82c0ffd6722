"""Describe a case in plain lines, for the formats that other programs show, such as `junit` and `sarif`.

Every line has passed `visible`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tokverify.render.alignment import Cell, Fold, Row, rows
from tokverify.report.difference import NO_TOKEN, Difference, Divergence
from tokverify.report.known_difference import KnownDifference
from tokverify.report.run import CaseResult, other_side
from tokverify.text.visible import visible, visible_message
from tokverify.text.wording import encode_options, list_items, plural
from tokverify.tokenizer import Token

_MAX_CHARACTERS = 300
_MAX_PIECE_CHARACTERS = 60
_MAX_EXPECTED = 50


def headline(result: CaseResult) -> str:
    """Describe in one line how a case fails, such as `after 2 tokens, 4 bytes: 1714 ▁ in actual, 5 ▁▁▁ in expected`."""
    if result.difference is None:
        return visible_message(result.message or "")
    return describe_divergence(result.difference.first, other_side(result))


def describe_divergence(first: Divergence, other: str) -> str:
    """Describe where two tokenizations diverge, in a line that has passed `visible`."""
    return f"{describe_place(first)}: {_name_token(first.actual)} in actual, {_name_token(first.expected)} in {other}"


def describe_place(first: Divergence) -> str:
    """Describe how much is equal before two tokenizations diverge."""
    if not first.token_index:
        return "at the start"
    # Without bytes, there is only a token such as BOS, or no side tells which text its tokens represent.
    text = f", {plural(first.byte_offset, 'byte')}" if first.byte_offset else ""
    return f"after {plural(first.token_index, 'token')}{text}"


def description(result: CaseResult) -> Iterator[str]:
    """Yield lines on what the case is and what was compared."""
    case = result.case
    if case.note:
        yield f"catches: {visible_message(case.note)}"
    yield f"text: {shortened(case.text)}"
    yield f"options: {encode_options(add_special=result.add_special, parse_special=result.parse_special)}"
    yield from (f"note: {visible_message(note)}" for note in (*result.notes, *result.refusals))
    if result.explained_by:
        yield f"because of: {visible_message(list_items(result.explained_by))}"
    if result.known:
        yield f"known: {visible_message(known_text(result.known))}, {visible_message(result.known.place)}"
    if result.expect is not None:
        left_out = len(result.expect) - _MAX_EXPECTED
        more = f" and {left_out:,} more" if left_out > 0 else ""
        yield f"expect: {', '.join(visible(str(item)) for item in result.expect[:_MAX_EXPECTED])}{more}"
    if result.difference:
        yield f"differs: {_describe_excerpt(result.difference)}"


def _describe_excerpt(difference: Difference) -> str:
    around = difference.excerpt
    following = around.expected or around.actual
    if not around.before and not following:
        return describe_place(difference.first)
    before = f"{visible(around.before)} " if around.before else ""
    return f"{before}▸ {visible(following)}"


def known_text(known: KnownDifference) -> str:
    """Say why a failure is accepted, and until when; the text has not passed `visible` yet."""
    return f"{known.reason} (until {known.expires})" if known.expires else known.reason


def alignment_lines(difference: Difference, other: str, *, fold: bool = True) -> Iterator[str]:
    """Yield an alignment as lines that begin with `-` (actual), `+` (`other`) or two spaces."""
    width = max(len("actual"), len(other))
    for stretch in _group_rows(rows(difference, fold=fold)):
        if isinstance(stretch, Fold):
            yield f"  ... {stretch.what} ..."
        elif stretch[0].equal:
            yield f"  {'=':{width}}  {_list_cells(row.actual for row in stretch)}"
        else:
            yield f"- {'actual':{width}}  {_list_cells(row.actual for row in stretch)}"
            yield f"+ {other:{width}}  {_list_cells(row.expected for row in stretch)}"


def result_alignment(result: CaseResult) -> Iterator[str]:
    """Yield the alignment of a case as such lines; nothing if its ids do not differ."""
    if result.difference:
        yield from alignment_lines(result.difference, other_side(result))


def shortened(text: str, most: int = _MAX_CHARACTERS) -> str:
    """Show a text; if it has more than `most` characters, the middle is replaced by its length."""
    if len(text) <= most:
        return visible(text)
    half = most // 2
    return f"{visible(text[:half])} ... {len(text) - 2 * half:,} characters ... {visible(text[-half:])}"


def _group_rows(lines: Iterable[Row | Fold]) -> Iterator[Fold | list[Row]]:
    """Group neighboring rows that are equal, or belong to the same differing block."""
    stretch: list[Row] = []
    for line in lines:
        if stretch and (isinstance(line, Fold) or line.equal != stretch[-1].equal or line.starts_block):
            yield stretch
            stretch = []
        if isinstance(line, Fold):
            yield line
        else:
            stretch.append(line)
    if stretch:
        yield stretch


def _list_cells(cells: Iterable[Cell | None]) -> str:
    names = [f"{_name_token(cell.token)}{f' × {cell.repeats:,}' * (cell.repeats > 1)}" for cell in cells if cell]
    return ", ".join(names) or "nothing"


def _name_token(token: Token | None) -> str:
    if token is None:
        return "the end"
    id = "none" if token.id == NO_TOKEN else str(token.id)
    return f"{id} {shortened(token.piece, _MAX_PIECE_CHARACTERS)}" if token.piece else f"{id} (no piece)"
