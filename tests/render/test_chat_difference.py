"""Two texts line by line: paired lines, marked differences, and omitted lines."""

import pytest

from support.hostile_chat import text_difference
from tokverify.render.alignment import Fold
from tokverify.render.chat_difference import TextLine, caret_rows, difference_lines, text_lines


def show_difference_lines(actual: str, expected: str) -> list[str]:
    return list(difference_lines(actual, expected, text_difference(actual, expected)))


def show_text_lines(actual: str, expected: str, *, fold: bool = True) -> list[TextLine | Fold]:
    return text_lines(actual, expected, text_difference(actual, expected), fold=fold)


def test_lines_that_end_together_are_paired():
    assert (show_difference_lines("a x\nb\nc y\nd", "a z\nb\nc w\nd")) == [
        "- actual    a·x↵",
        "              ^",
        "+ expected  a·z↵",
        "              ^",
        "  =         b↵",
        "- actual    c·y↵",
        "              ^",
        "+ expected  c·w↵",
        "              ^",
        "  =         d",
    ]


def test_a_line_of_one_side_is_not_marked_as_a_whole():
    assert (show_difference_lines("a\nb\n", "b\n")) == ["- actual    a↵", "  =         b↵"]
    assert (show_difference_lines("", "a")) == ["+ expected  a"]
    assert (show_difference_lines("", "")) == []


def test_differences_are_visible():
    lines = show_difference_lines("a\x1b \n", "a\u202e\t\n")
    assert lines == ["- actual    a\\x1b·↵", "             ^^^^^", "+ expected  a\\u202e→↵", "             ^^^^^^^"]


@pytest.mark.parametrize("fold", [True, False])
def test_equal_lines_far_from_a_difference_are_folded(fold: bool):
    lines = show_text_lines("x\n" + "same\n" * 9 + "y", "z\n" + "same\n" * 9 + "w", fold=fold)
    marks = "".join("." if isinstance(line, Fold) else line.mark for line in lines)
    assert marks == ("-+==.==-+" if fold else "-+=========-+")


def test_long_parts_are_cut_in_the_middle_and_marked_there_too():
    [actual, expected] = show_text_lines(f"{'a' * 1000} {'b' * 1000}!", f"{'a' * 1000} c!")
    assert actual.parts[0].shown == f"{'a' * 80} ... 841 characters ... {'a' * 79}·"
    assert actual.parts[1].shown == f"{'b' * 300} ... 400 characters ... {'b' * 300}"
    assert [part.changed for part in expected.parts] == [False, True, False]


@pytest.mark.parametrize(("fold", "most"), [(True, 201), (False, 5001)])
def test_very_many_lines_are_counted(fold: bool, most: int):
    actual, expected = (f"{character}\n" * 4000 for character in "ab")
    lines = show_text_lines(actual, expected, fold=fold)
    assert len(lines) == most
    assert f"{8000 - most + 1:,} more lines, all of them in -f json" in {
        line.what for line in lines if isinstance(line, Fold)
    }


def test_rows_are_cut_by_cells():
    [line] = [line for line in show_text_lines("日本語 a", "日本語 b") if line.mark == "-"]
    assert list(caret_rows(line, 4)) == [("日本", ""), ("語·a", "   ^")]
