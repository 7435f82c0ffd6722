from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokverify.engine import added_token_overlap
from tokverify.engine.added_token_overlap import can_overlap


def can_overlap_by_definition(texts: Sequence[str]) -> bool:
    """Try every text, every position in it, and every other text."""
    lengths = {text: len(text.encode()) for text in texts}
    for text in texts:
        for start in range(1, len(text)):
            for rival in texts:
                union = text[:start] + rival
                longer = any(union[:end] in lengths for end in range(len(text) + 1, len(union) + 1))
                is_rival = rival != text and lengths[rival] >= lengths[text] and rival.startswith(text[start:])
                if is_rival and not longer:
                    return True
    return False


@pytest.mark.parametrize("texts", [["\n", "\n\n", "\n\n\n"], ["<a>", "<b>", "<a><b>"], ["aba"], ["abc", "b"], []])
def test_these_tokens_cannot_overlap(texts: list[str]):
    assert not can_overlap(tuple(texts))


@pytest.mark.parametrize("texts", [["ab", "bc"], ["ab", "bcd"], ["aab", "bé"], ["  \n", "\n\n\n"]])
def test_these_tokens_can_overlap(texts: list[str]):
    assert can_overlap(tuple(texts))


def test_an_overlap_that_a_longer_token_wins_anyway_does_not_count():
    assert can_overlap(("ab", "bc"))
    assert not can_overlap(("ab", "bc", "abc"))


def test_in_runs_of_some_lengths_only_the_longer_run_takes_precedence():
    assert not can_overlap(tuple(" " * length for length in (1, 2, 3, 4, 8, 16, 31)))
    assert can_overlap(("  ", "    ", "     x"))


@given(st.lists(st.text("abé", min_size=1, max_size=6), min_size=1, max_size=8, unique=True))
def test_the_result_is_that_of_the_definition(texts: list[str]):
    assert can_overlap(tuple(texts)) == can_overlap_by_definition(texts)


def test_tokens_beyond_the_limit_are_assumed_to_overlap(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(added_token_overlap, "MAX_TOTAL_CHARACTERS", 3)
    assert not can_overlap(("a", "bc"))
    assert can_overlap(("ab", "cd"))
