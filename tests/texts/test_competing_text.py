"""Texts show in which order pieces are joined, where the text of no single token does."""

from dataclasses import replace

import pytest

from support.spec_maker import bpe_spec, spm_spec, unigram_spec
from tokverify.engine.encoder import Encoder
from tokverify.spec import TokenizerSpec
from tokverify.texts.competing_text import CompetingTexts

LETTERS = {"a": -9.0, "b": -9.0, "c": -9.0, "d": -9.0}
SPM = spm_spec({**LETTERS, "ab": -2.0, "bc": -1.0, "cd": -3.0})
UNIGRAM = unigram_spec({**LETTERS, "▁": -9.0, "ab": -2.0, "bc": -1.0, "cd": -3.0})
DIVIDED = unigram_spec({"▁": -9, "a": -1, "b": -9, "c": -9, "d": -1, "ab": -5, "bc": -7.5, "cd": -5})
BPE = bpe_spec(["b c", "a b", "c d"])


def competing_texts(encoder: Encoder, declared: TokenizerSpec | None) -> list[str]:
    return CompetingTexts(declared).make(encoder)


def with_score(spec: TokenizerSpec, piece: str, score: float) -> TokenizerSpec:
    scores = [score if token == piece else old for token, old in zip(spec.tokens, spec.scores, strict=True)]
    return replace(spec, scores=scores)


@pytest.mark.parametrize("spec", [SPM, UNIGRAM], ids=["spm", "unigram"])
def test_a_score_that_another_one_now_precedes_shows_in_the_text_of_both(spec: TokenizerSpec):
    wrong = with_score(spec, "bc", -2.5)
    assert competing_texts(Encoder(wrong), spec) == ["abc"]
    assert Encoder(wrong).encode("abc") != Encoder(spec).encode("abc")


def test_of_equal_scores_the_left_one_wins():
    assert competing_texts(Encoder(with_score(SPM, "bc", -2.0)), SPM) == ["abc"]
    assert competing_texts(Encoder(with_score(SPM, "cd", -1.0)), SPM) == []


def test_a_score_that_changes_no_order_makes_no_text():
    assert competing_texts(Encoder(with_score(SPM, "bc", -1.5)), SPM) == []


def test_merges_in_another_order_and_missing_ones_make_texts():
    assert competing_texts(Encoder(replace(BPE, merges=["a b", "b c", "c d"])), BPE) == ["abc"]
    assert competing_texts(Encoder(replace(BPE, merges=["a b", "c d"])), BPE) == ["abc", "bcd"]
    assert competing_texts(Encoder(BPE), BPE) == []


def test_scores_are_compared_with_the_ranks_of_the_reference_s_merges():
    ranks = spm_spec({**LETTERS, "ab": 0.0, "bc": 0.0}, merges=["b c", "a b"])
    same = spm_spec({**LETTERS, "ab": -2.0, "bc": -1.0})
    declared = replace(ranks, scores=None)
    assert competing_texts(Encoder(same), declared) == []
    assert competing_texts(Encoder(with_score(same, "ab", -0.5)), declared) == ["abc"]


def test_without_a_declaration_the_narrowest_competitions_come_first():
    assert competing_texts(Encoder(SPM), None) == ["abc", "bcd"]
    assert competing_texts(Encoder(with_score(SPM, "cd", -1.1)), None) == ["bcd", "abc"]


def test_very_long_pieces_are_left_out():
    long = "ab" * 51
    spec = spm_spec({**LETTERS, "ab": -2.0, "bc": -1.0, long[:-2]: -4.0, long: -3.0})
    texts = competing_texts(Encoder(spec), None)
    assert "abc" in texts
    assert all(len(text) < len(long) for text in texts)


def test_a_moved_join_is_tried_with_more_than_its_closest_competitors():
    scores = {"pa": -5, "ac": -5.5, "qa": -7, "ab": -10, "a": -20, "b": -21, "c": -22, "p": -23, "q": -24}
    right, wrong = spm_spec(scores), spm_spec({**scores, "ab": -1})
    texts = competing_texts(Encoder(wrong), right)
    assert {"pab", "qab"} <= set(texts)


def test_scores_that_are_all_lower_show_where_two_tokens_compete_with_three():
    lower = replace(DIVIDED, scores=[score - 1 for score in DIVIDED.scores])
    assert competing_texts(Encoder(lower), DIVIDED) == ["abcd"]
    assert Encoder(lower).encode("abcd") != Encoder(DIVIDED).encode("abcd")
    assert "abcd" in competing_texts(Encoder(lower), None)


def test_scores_that_are_a_little_lower_divide_no_text_differently():
    lower = replace(DIVIDED, scores=[score - 0.25 for score in DIVIDED.scores])
    assert competing_texts(Encoder(lower), DIVIDED) == []


def test_the_piece_that_two_others_share_need_be_no_token():
    right = unigram_spec({"▁": -9, "a": -2, "c": -2, "ab": -5, "bc": -6})
    wrong = with_score(right, "bc", -4.5)
    assert competing_texts(Encoder(wrong), right) == ["abc"]
    assert Encoder(wrong).encode("abc") != Encoder(right).encode("abc")


def test_a_separator_keeps_a_text_away_from_the_space_before_it():
    pieces = {"▁": -9, "~": -9, "a": -2, "c": -2, "ab": -5, "bc": -6, "▁ab": -1}
    right = unigram_spec(pieces, add_space_prefix=True)
    wrong = with_score(right, "bc", -4.5)
    assert "~abc" in competing_texts(Encoder(wrong), right)
    assert Encoder(wrong).encode("abc") == Encoder(right).encode("abc")
    assert Encoder(wrong).encode("~abc") != Encoder(right).encode("~abc")


def test_a_piece_that_only_one_side_has_competes_on_that_side():
    one = unigram_spec({"▁": -3, "a": -2, "b": -2, "ab": -1, "c": -5})
    other = unigram_spec({"▁": -3, "a": -2, "c": -1, "ac": -3, "b": -2})
    assert CompetingTexts(other).make_around(Encoder(one), {"ab", "ac"}) == []
