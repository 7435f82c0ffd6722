"""The ids of pieces, with and without a dictionary."""

import pytest

from tokverify.engine.engine_choice import VARIABLE
from tokverify.engine.joined_strings import JoinedStrings
from tokverify.engine.piece_index import PieceIndex, index_pieces, listed_pieces

PIECES = ["<s>", "é", "\udcff", "b"]


@pytest.fixture
def index(monkeypatch) -> PieceIndex:
    pytest.importorskip("tokverify._native")
    monkeypatch.setenv(VARIABLE, "native")
    found = index_pieces(JoinedStrings("\0".join(PIECES).encode("utf-8", "surrogateescape"), len(PIECES)))
    assert isinstance(found, PieceIndex)
    return found


def test_single_lookups_make_no_dictionary(index):
    assert [index[piece] for piece in PIECES] == [0, 1, 2, 3]
    assert ("é" in index, "e" in index, index.get("e"), len(index)) == (True, False, None, 4)
    assert "dictionary" not in vars(index)


def test_a_text_that_utf8_cannot_carry_is_no_piece(index):
    assert "\ud800" not in index


def test_the_whole_is_the_same_as_a_dictionary(index):
    expected = {piece: id for id, piece in enumerate(PIECES)}
    assert (dict(index), list(index), list(index.items())) == (expected, PIECES, list(expected.items()))
    assert index == expected
    assert list(listed_pieces(index)) == list(listed_pieces(expected)) == PIECES
    assert index.keys() - {"b"} == {"<s>", "é", "\udcff"}


def test_a_repeated_piece_makes_the_index_smaller_than_the_vocabulary(index):
    assert len(index_pieces(["a", "b", "a"])) == len(index_pieces(JoinedStrings(b"a\0b\0a", 3))) == 2


def test_the_python_engine_uses_a_dictionary(monkeypatch):
    monkeypatch.setenv(VARIABLE, "python")
    assert type(index_pieces(JoinedStrings(b"a\0b", 2))) is dict
