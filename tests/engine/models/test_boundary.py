from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokverify.engine.models.boundary import PartSplitter, adjacent_pairs, line_splitter, word_splitter

PIECES = ["▁", "a", "b", ".", "▁a", "ab", "▁▁", "..", "é"]


def cuts(parts: list[str]) -> set[int]:
    """Where a text was cut, in characters from its start."""
    return {sum(map(len, parts[:count])) for count in range(1, len(parts))}


def hard_boundaries(text: str, pairs: set[str]) -> set[int]:
    return {index for index, pair in enumerate(pairwise(text), start=1) if "".join(pair) not in pairs}


def test_pairs_are_the_neighbors_inside_a_piece():
    assert adjacent_pairs(["a", "abc", "▁a"]) == {"ab", "bc", "▁a"}


def test_pieces_do_not_touch_each_other():
    assert adjacent_pairs(["ab", "cd"]) == {"ab", "cd"}
    assert adjacent_pairs([]) == set()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a", ["a"]),
        ("ab", ["ab"]),
        ("ba", ["b", "a"]),
        ("▁ab▁▁ab..é", ["▁ab", "▁▁ab", "..", "é"]),
        ("🦙🦙", ["🦙", "🦙"]),
    ],
)
def test_parts_are_split_at_every_hard_boundary(text: str, parts: list[str]):
    assert PartSplitter(adjacent_pairs(PIECES)).split(text) == parts


def test_parts_are_the_same_when_the_cache_of_pairs_is_full(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(PartSplitter, "ENTRIES", 1)
    splitter = PartSplitter({"ab"})
    assert [splitter.split("abba") for _ in range(2)] == [["ab", "b", "a"]] * 2
    assert len(splitter) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("▁a▁▁b", ["▁a", "▁▁b"]),
        ("ab▁", ["ab", "▁"]),
        ("▁▁▁", ["▁▁▁"]),
        ("a,b,▁c", ["a,", "b,", "▁c"]),  # no piece goes on from a comma
        ("a..b", ["a..b"]),
    ],
)
def test_words_begin_with_their_spaces(text: str, words: list[str]):
    split = word_splitter(adjacent_pairs([*PIECES, ","]), {*"▁ab.,é"})
    assert split(text) == words


def test_a_word_continues_across_a_space_that_a_piece_crosses():
    split = word_splitter(adjacent_pairs(["a▁", "▁b"]), {*"ab▁"})
    assert split("a▁b▁b") == ["a▁b", "▁b"]


@pytest.mark.parametrize(
    ("pieces", "lines"),
    [
        ([], ["a.", "\n", "\nb", "\n"]),
        (["\n\n"], ["a.", "\n\n", "b", "\n"]),
        # Where a piece crosses the place before a line feed, the one behind it may still do.
        ([".\n"], ["a.\n", "\nb", "\n"]),
        ([".\n\n"], ["a.\n\n", "b", "\n"]),
        ([".\n", "\n\n", "\nb"], ["a.\n\nb", "\n"]),
        ([".\n", "\n\n", "\nb", "b\n"], ["a.\n\nb\n"]),
    ],
)
def test_lines_are_split_before_or_after_line_feeds(pieces: list[str], lines: list[str]):
    assert line_splitter(adjacent_pairs(pieces))("a.\n\nb\n") == lines


def test_an_empty_text_has_no_lines():
    assert line_splitter(set())("") == []


def test_pattern_characters_are_matched_literally():
    marks = "]^-\\[&~|#\n"
    split = word_splitter(set(), set(marks))
    assert split(f"{marks}a") == [*marks, "a"]


characters = "▁ab.,]\n"
pieces = st.lists(st.text(characters, min_size=1, max_size=4), max_size=8)


@given(pieces, st.text(characters + "é", max_size=40))
def test_texts_are_split_only_at_hard_boundaries(pieces: list[str], text: str):
    pairs = adjacent_pairs(pieces)
    for split in (line_splitter(pairs), word_splitter(pairs, set(characters))):
        chunks = split(text)
        assert "".join(chunks) == text
        assert all(chunks)
        assert cuts(chunks) <= hard_boundaries(text, pairs)
    if text:
        parts = PartSplitter(pairs).split(text)
        assert "".join(parts) == text
        assert cuts(parts) == hard_boundaries(text, pairs)
