"""Comparing two texts: the parts tile both, and the smallest that reads well is what differs."""

from itertools import chain, pairwise

import pytest
from hypothesis import given, strategies

from tokverify.chat.text_difference import Stretch, compare_texts, find_differences, to_text_difference
from tokverify.report.chat import TextStretch
from tokverify.text.sequence import split_lines


def stretches(actual: str, expected: str) -> list[tuple[str, str]]:
    blocks = compare_texts(actual, expected)
    return [(one.actual, one.expected) for one in chain.from_iterable(block.stretches for block in blocks)]


@pytest.mark.parametrize(
    ("actual", "expected", "parts"),
    [
        ("", "", []),
        ("a", "a", [("a", "a")]),
        ("a", "", [("a", "")]),
        ("a b c", "a x c", [("a ", "a "), ("b", "x"), (" c", " c")]),
        ("HI THERE", "hi there", [("HI THERE", "hi there")]),
        ("a\nb\n", "a\nc\n", [("a\n", "a\n"), ("b", "c"), ("\n", "\n")]),
        ("x<|im_end|>\n", "x</s>\n", [("x", "x"), ("<|im_end|>", "</s>"), ("\n", "\n")]),
        ("a\nb\n", "b\n", [("a\n", ""), ("b\n", "b\n")]),
        ("a\n", "a", [("a", "a"), ("\n", "")]),
    ],
)
def test_differing_parts_are_found(actual: str, expected: str, parts: list[tuple[str, str]]):
    assert stretches(actual, expected) == parts


TEXTS = strategies.text("ab \n<>|", max_size=30)


@given(TEXTS, TEXTS)
def test_the_parts_cover_both_texts_and_alternate_between_equal_and_different(actual: str, expected: str):
    parts = stretches(actual, expected)
    assert "".join(part for part, _ in parts) == actual
    assert "".join(part for _, part in parts) == expected
    for block in compare_texts(actual, expected):
        assert block.equal == all(one.equal for one in block.stretches)
        assert all(one.equal != two.equal for one, two in pairwise(block.stretches))


def test_long_texts_that_share_nothing_are_one_difference():
    actual, expected = "a b " * 2000, "c d " * 2000
    assert stretches(actual, expected) == [(actual[:-1], expected[:-1]), (" ", " ")]


def test_a_difference_knows_what_is_before_it():
    found = list(find_differences(compare_texts("a\nb c\nf\n", "a\nb d\nf\ne\n")))
    assert found == [("a\nb ", Stretch("c", "d")), ("a\nb c\nf\n", Stretch("", "e\n"))]


def test_lines_end_at_newlines_only():
    assert split_lines("a\u2028b\r\n\x0bc\n\nd") == ["a\u2028b\r\n", "\x0bc\n", "\n", "d"]


def test_a_report_stores_the_sizes_of_the_parts():
    [same, changed] = to_text_difference(compare_texts("a\nb c\n", "a\nb dd\n")).blocks
    assert same == (TextStretch(2, 2, equal=True),)
    assert changed == (TextStretch(2, 2, equal=True), TextStretch(1, 2, equal=False), TextStretch(1, 1, equal=True))
