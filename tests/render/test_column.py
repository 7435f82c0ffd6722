import re

import pytest
from rich.measure import Measurement
from rich.text import Text

from tokverify.render.layout import Columns, draw, fit
from tokverify.render.options import RenderOptions


def drawn(width: int, *columns: tuple[str, str], rows: list[list[str]]) -> list[str]:
    made = Columns(*columns)
    for row in rows:
        made.add_row(*map(Text, row))
    return draw([made], RenderOptions(width=width)).removesuffix("\n").split("\n")


SUITES = [("suite", "left"), ("cases", "right"), ("mismatch", "right"), ("skipped", "right")]
ROWS = [["whitespace", "12", "3", "-"]]


def test_headings_are_side_by_side_if_there_is_space():
    assert drawn(80, *SUITES, rows=ROWS) == [
        "suite       cases  mismatch  skipped",
        "whitespace     12         3        -",
    ]


def test_headings_that_do_not_fit_get_separate_lines_aligned_with_their_columns():
    assert drawn(25, *SUITES, rows=ROWS) == [
        "suite",
        "         cases",
        "         mismatch",
        "             skipped",
        "whitespace  12  3  -",
    ]


@pytest.mark.parametrize("width", [*range(12, 60)])
def test_no_word_of_a_heading_is_broken(width: int):
    columns = [("id", "right"), ("actual: 12 tokens", "left"), ("stands for", "left"), ("expected: 3", "left")]
    lines = drawn(width, *columns, rows=[["1", "x" * 15, "b c d", "e"], ["20", "x", "yyyyyyy", ""]])
    assert max(map(len, lines)) <= width
    found = re.findall(r"\S+", " ".join(lines))
    assert {"id", "actual:", "12", "tokens", "stands", "for", "expected:", "3"} <= {*found}


def test_a_heading_wider_than_the_terminal_is_folded():
    assert drawn(6, ("abcdefgh", "left"), rows=[["x"]]) == ["abcdef", "gh", "x"]


def test_without_headings_there_is_no_line_for_them():
    assert drawn(20, ("", "left"), ("", "left"), rows=[["a", "b"], ["c"]]) == ["a  b", "c"]


@pytest.mark.parametrize(
    ("measured", "room", "widths"),
    [
        ([(2, 5), (3, 9)], 20, [5, 9]),
        ([(2, 5), (3, 9)], 10, [5, 5]),
        ([(5, 5), (3, 9)], 8, [5, 3]),
        ([(5, 5), (3, 9)], 6, [3, 3]),
        ([(9, 10**6), (1, 1)], 10, [9, 1]),
        ([(9, 9), (9, 9)], 1, [2, 1]),
    ],
)
def test_the_widest_shrink_first_and_words_break_last(measured: list[tuple[int, int]], room: int, widths: list[int]):
    assert fit([Measurement(*pair) for pair in measured], room, [2, 1]) == widths


CELLS = [
    "",
    "x",
    "7 ",
    " two words ",
    "日本",
    "a\nb",
    "tab\tbed",
    "long " * 12,
    Text("dim ", "dim"),
    Text("e\u0301 🙂"),
]


@pytest.mark.parametrize("width", [20, 40, 200])
def test_rows_that_are_drawn_without_a_table_look_as_those_with_one(monkeypatch, width: int):
    def draw_all() -> str:
        columns = Columns(("left", "left"), ("right", "right"), ("", "left"))
        for index, cell in enumerate(CELLS):
            columns.add_row(cell, CELLS[index - 1], CELLS[index - 2])
        return draw([columns], RenderOptions(width=width))

    lines = draw_all()
    monkeypatch.setattr(Columns, "_line", lambda *_: None)
    assert lines == draw_all()


def test_rows_that_fit_need_no_table(monkeypatch):
    rows: list[object] = []
    original = Columns._table

    def count(self, listed, *arguments, **options):
        rows.extend(listed)
        return original(self, listed, *arguments, **options)

    monkeypatch.setattr(Columns, "_table", count)
    columns = Columns(("name", "left"), ("count", "right"))
    for index in range(100):
        columns.add_row(f"case-{index}", str(index))
    assert len(draw([columns], RenderOptions(width=80)).splitlines()) == 101
    assert rows == []
