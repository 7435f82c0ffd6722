import pytest

from tokverify.render.alignment import Cell, Fold, Row, rows
from tokverify.report.difference import Block, Difference, Divergence
from tokverify.tokenizer import Token

FIRST = Divergence(0, 0, None, None)


def tokens(text: str) -> tuple[Token, ...]:
    return tuple(Token(ord(letter), letter, letter.encode()) for letter in text)


def equal(text: str) -> Block:
    return Block(True, tokens(text), tokens(text))


def differing(actual: str, expected: str) -> Block:
    return Block(False, tokens(actual), tokens(expected))


def drawn(*blocks: Block, fold: bool = True) -> list[str]:
    return [_line(row) for row in rows(Difference(first=FIRST, blocks=blocks), fold=fold)]


def _line(row: Row | Fold) -> str:
    if isinstance(row, Fold):
        return row.what
    mark = "=" if row.equal else "≠" if row.starts_block else "┆"
    return f"{mark}{_cell(row.actual)} {_cell(row.expected)}"


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return "-"
    return cell.token.piece + (str(cell.repeats) if cell.repeats > 1 else "")


def test_two_equal_tokens_stay_on_each_side_of_a_difference():
    assert drawn(equal("abcdef"), differing("x", "yz"), equal("ghijkl")) == [
        "4 equal", "=e e", "=f f", "≠x y", "┆- z", "=g g", "=h h", "4 equal",
    ]  # fmt: skip


def test_equal_tokens_between_differences_are_folded_in_the_middle():
    assert drawn(differing("x", ""), equal("abcdefg"), differing("", "y")) == [
        "≠x -", "=a a", "=b b", "3 equal", "=f f", "=g g", "≠- y",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["a", "ab", "abc"])
def test_one_token_is_not_folded(text):
    assert not any("equal" in line for line in drawn(equal(text), differing("x", "y")))


def test_repeats_of_a_token_are_counted():
    assert drawn(differing("aaaab", "cc")) == ["≠a4 c", "┆b c"]
    assert drawn(differing("aaab", "cc")) == ["≠a c", "┆a c", "┆a -", "┆b -"]


def test_repeats_of_a_difference_are_counted():
    assert drawn(*[differing("ab", "c")] * 5) == ["≠a c", "┆b -", "4 more like this"]
    assert len(drawn(*[differing("ab", "c")] * 3)) == 6


def test_a_very_long_alignment_is_folded_and_says_so():
    long = "".join(map(chr, range(1000, 1500)))
    lines = drawn(differing(long, ""))
    assert len(lines) == 201
    assert "300 more lines, shown with -v" in lines


def test_without_folding_everything_is_there():
    blocks = [equal("a" * 50), *[differing("bbbbbb", "c")] * 50, equal("d" * 50)]
    lines = drawn(*blocks, fold=False)
    assert len(lines) == 50 + 50 * 6 + 50
    assert all(line[0] in "=≠┆" for line in lines)
