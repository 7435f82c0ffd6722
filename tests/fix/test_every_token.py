"""A fault that shows in a single token is found, whichever token it is."""

from dataclasses import replace

from support.spec_maker import CONTROL, bpe_spec, spm_spec
from tokverify.engine.encoder import Encoder
from tokverify.fix.every_token import EveryToken

MERGES = [f"{left} {right}" for left in "abcdefgh" for right in "ijklmnop"]
SPEC = bpe_spec(MERGES, {"<x>": CONTROL})


def test_equal_tokenizers_have_no_differing_tokens():
    assert EveryToken(Encoder(SPEC)).differing_cases(Encoder(SPEC)) == []


def test_the_token_of_a_lost_merge_is_found():
    for lost in (0, len(MERGES) // 2, len(MERGES) - 1):
        wrong = replace(SPEC, merges=[merge for merge in MERGES if merge != MERGES[lost]])
        (case,) = EveryToken(Encoder(SPEC)).differing_cases(Encoder(wrong))
        assert case.text == MERGES[lost].replace(" ", "")


def test_the_number_of_cases_is_limited():
    wrong = replace(SPEC, merges=MERGES[:1])
    cases = EveryToken(Encoder(SPEC)).differing_cases(Encoder(wrong))
    assert 1 < len(cases) <= 32
    assert all(Encoder(wrong).encode(case.text) != Encoder(SPEC).encode(case.text) for case in cases)


def test_a_score_that_shows_in_no_token_is_found_where_two_tokens_compete():
    right = spm_spec({**dict.fromkeys("abc", -9.0), "ab": -2.0, "bc": -1.0})
    wrong = replace(right, scores=[-2.0 if score == -1.0 else score for score in right.scores])
    for declared in (right, None):
        (case,) = EveryToken(Encoder(right), declared).differing_cases(Encoder(wrong))
        assert case.text == "abc"
