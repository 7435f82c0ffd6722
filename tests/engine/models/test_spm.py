from collections.abc import Mapping
from itertools import pairwise
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokverify.engine.models.spm import Spm
from tokverify.errors import EncodeError

BYTE_SCORES = {f"<0x{byte:02X}>": 0.0 for byte in range(0x100)}


def make(scores: Mapping[str, float]) -> tuple[Spm, dict[str, int]]:
    ids = {piece: id for id, piece in enumerate(scores)}
    return Spm(ids, list(scores.values())), ids


def pieces_of(scores: Mapping[str, float], text: str) -> list[str]:
    model, _ = make(scores)
    return [[*scores][id] for id in model.encode(text)]


def encode_plainly(ids: Mapping[str, int], scores: Mapping[str, float], text: str) -> list[int]:
    """The algorithm as its definition has it, on the whole text."""
    symbols = list(text)
    while True:
        joined = [left + right for left, right in pairwise(symbols)]
        found = [(-scores[piece], index) for index, piece in enumerate(joined) if piece in scores]
        if not found:
            break
        _, index = min(found)
        symbols[index : index + 2] = [joined[index]]
    spelled = [[symbol] if symbol in ids else [f"<0x{byte:02X}>" for byte in symbol.encode()] for symbol in symbols]
    return [ids[piece] for pieces in spelled for piece in pieces]


def test_the_pair_with_the_highest_score_is_merged_first():
    assert pieces_of({"a": 0, "b": 0, "c": 0, "ab": -2, "bc": -1}, "abc") == ["a", "bc"]
    assert pieces_of({"a": 0, "b": 0, "c": 0, "ab": -1, "bc": -2, "abc": -9}, "abc") == ["abc"]


def test_the_leftmost_pair_is_merged_first_if_scores_are_equal():
    assert pieces_of({"a": 0, "aa": -1}, "aaaaa") == ["aa", "aa", "a"]
    assert pieces_of({"a": 0, "b": 0, "c": 0, "ab": -1, "bc": -1}, "abc") == ["ab", "c"]


def test_a_piece_without_a_possible_merge_is_never_formed():
    assert pieces_of({"a": 0, "b": 0, "c": 0, "abc": 5}, "abc") == ["a", "b", "c"]


def test_two_characters_merge_even_if_they_are_not_pieces():
    assert pieces_of({"ab": 0} | BYTE_SCORES, "abé") == ["ab", "<0xC3>", "<0xA9>"]


def test_a_character_that_is_not_a_piece_is_encoded_as_bytes():
    assert pieces_of({"a": 0} | BYTE_SCORES, "a🦙\n\0") == [
        "a",
        "<0xF0>",
        "<0x9F>",
        "<0xA6>",
        "<0x99>",
        "<0x0A>",
        "<0x00>",
    ]


def test_a_byte_without_a_byte_piece_can_have_a_raw_piece():
    first, second = "é".encode().decode("ascii", "surrogateescape")
    assert pieces_of({first: 0, second: 0}, "é") == [first, second]


def test_a_byte_without_any_piece_is_an_error_that_names_it():
    with pytest.raises(EncodeError, match="no token for the byte 0xC3"):
        pieces_of({"a": 0}, "aé")


def test_an_empty_text_has_no_tokens():
    assert pieces_of({"a": 0}, "") == []


def test_the_lowest_possible_score_excludes_no_piece():
    assert pieces_of({"a": 0, "b": 0, "c": 0, "ab": -inf, "bc": -1e30}, "abcab") == ["a", "bc", "ab"]


def test_a_second_encoding_of_a_text_equals_the_first():
    model, _ = make({"▁": 0, "a": 0, "▁a": -1} | BYTE_SCORES)
    assert model.encode("▁a▁aé▁a") == model.encode("▁a▁aé▁a")


alphabet = "▁ab.\n"
vocabularies = st.dictionaries(
    st.text(alphabet, min_size=1, max_size=5), st.sampled_from([0.0, -1.0, -2.0, 3.5, -1000.0]), max_size=20
)


@given(vocabularies, st.text(alphabet + "é", max_size=40))
def test_the_result_equals_that_of_the_plain_algorithm(scores: dict[str, float], text: str):
    scores |= BYTE_SCORES
    model, ids = make(scores)
    assert model.encode(text) == encode_plainly(ids, scores, text)


@given(vocabularies, st.text(alphabet, min_size=5, max_size=12))
def test_long_words_give_the_same_ids(scores: dict[str, float], text: str):
    scores |= BYTE_SCORES
    model, ids = make(scores)
    assert model.encode(text * 30) == encode_plainly(ids, scores, text * 30)


@pytest.mark.parametrize("name", ["llama-spm", "gemma-3"])
def test_real_vocabularies_give_the_same_ids(spec_of, encoder_of, name: str):
    spec, encoder = spec_of(name), encoder_of(name)
    scores = dict(zip(spec.tokens, spec.scores, strict=True))
    model = Spm(encoder.settings.ids, spec.scores)
    pieces = st.sampled_from(spec.tokens).filter(lambda piece: not any("\ud800" <= mark <= "\udfff" for mark in piece))
    marks = st.sampled_from([*"▁▁▁\n\t.,'-é0aßक\u0301", "▁▁", "🦙"])

    @settings(max_examples=40)
    @given(st.lists(pieces | marks, max_size=8).map("".join))
    def check(text: str) -> None:
        assert model.encode(text) == encode_plainly(encoder.settings.ids, scores, text)

    check()
