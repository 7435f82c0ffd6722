from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokverify.engine.models.merge import merge


def merge_plainly(symbols: list[str], costs: dict[str, float], separator: str) -> list[str]:
    while True:
        keys = [f"{left}{separator}{right}" for left, right in pairwise(symbols)]
        found = [(costs[key], index) for index, key in enumerate(keys) if key in costs]
        if not found:
            return symbols
        _, index = min(found)
        symbols[index : index + 2] = [symbols[index] + symbols[index + 1]]


@pytest.mark.parametrize(
    ("text", "costs", "symbols"),
    [
        ("", {"a b": 0}, []),
        ("a", {"a b": 0}, ["a"]),
        ("ba", {"a b": 0}, ["b", "a"]),
        ("abc", {"a b": 0, "ab c": 1}, ["abc"]),
        ("abc", {"b c": 0, "a b": 1}, ["a", "bc"]),
        ("abcabd", {"a b": 1, "b c": 0, "ab d": 2}, ["a", "bc", "abd"]),
        # The leftmost of equals is joined first, so an odd one is left over at the end.
        ("aaaaa", {"a a": 0}, ["aa", "aa", "a"]),
        ("aaaaa", {"a a": 0, "aa aa": 1}, ["aaaa", "a"]),
        # The pair (b, c) is found first and has gone when its turn comes.
        ("abcd", {"a b": 0, "b c": 1, "c d": 2}, ["ab", "cd"]),
        # A cheaper pair can become possible late.
        ("abc", {"a b": 5, "ab c": -3}, ["abc"]),
    ],
)
def test_the_cheapest_pair_is_merged_first(text: str, costs: dict[str, float], symbols: list[str]):
    assert merge(list(text), costs, " ") == symbols


def test_a_pair_is_looked_up_with_its_separator():
    assert merge(["a", "b"], {"ab": -1.0}, "") == ["ab"]
    assert merge(["a", "b"], {"ab": -1.0}, " ") == ["a", "b"]


symbol = st.text("ab", min_size=1, max_size=3)
costs_with_ties = st.dictionaries(
    st.tuples(symbol, symbol).map(" ".join), st.sampled_from([-1.0, 0.0, 0.5, 2.0]), max_size=12
)


@given(st.text("abc", max_size=40), costs_with_ties)
def test_the_result_equals_that_of_the_simple_algorithm(text: str, costs: dict[str, float]):
    expected = merge_plainly(list(text), costs, " ")
    assert merge(list(text), costs, " ") == expected
