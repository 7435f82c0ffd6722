"""A fault that shows in a single token is found, whichever token it is."""

from dataclasses import replace

from support import made_vocabulary
from support.bare_tokenizer import Bare
from support.spec_maker import CONTROL, bpe_spec, spm_spec
from tokverify.engine.encoder import Encoder
from tokverify.repair.fix.every_token import EveryToken
from tokverify.spec import TokenType

MERGES = [f"{left} {right}" for left in "abcdefgh" for right in "ijklmnop"]
SPEC = bpe_spec(MERGES, {"<x>": CONTROL})


def test_equal_tokenizers_have_no_differing_tokens():
    assert EveryToken(Encoder(SPEC)).differing_cases(Encoder(SPEC)) == []


def test_the_texts_of_padding_show_nothing():
    """RWKV finds all its pieces in texts, also the padding that llama.cpp's converter adds at the end."""
    right = made_vocabulary.rwkv()
    padding = [f"[PAD{id}]" for id in range(len(right.tokens), len(right.tokens) + 3)]
    padded = replace(right, tokens=[*right.tokens, *padding], types=[*(right.types or ()), *[TokenType.UNUSED] * 3])
    assert Encoder(padded).encode(padding[0]) == [len(right.tokens)]
    assert EveryToken(Encoder(right)).differing_cases(Encoder(padded)) == []


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


def test_a_pre_tokenizer_that_splits_only_white_space_differently_is_found():
    right = bpe_spec(["Ċ ĉ"], pre="qwen2")
    wrong = replace(right, pre="seed-coder")
    cases = EveryToken(Encoder(right)).differing_cases(Encoder(wrong))
    assert cases
    assert all("\n\t" in case.text for case in cases)


def test_a_difference_that_shows_only_between_two_tokens_is_found():
    class Joining(Bare):
        def encode(self, text: str, **options: bool) -> list[int]:
            ids = super().encode(text, **options)
            return ids[:-1] if "ai\naj" in text else ids

    (case,) = EveryToken(Joining(Encoder(SPEC))).differing_cases(Encoder(SPEC))
    assert "ai\naj" in case.text


def test_a_merge_that_makes_no_token_is_put_into_a_text():
    right = bpe_spec(["a b", "å Ģ"], pre="gpt-2")
    wrong = replace(right, merges=[*(right.merges or ()), "ab åĢ"])
    cases = EveryToken(Encoder(right), right).differing_cases(Encoder(wrong))
    assert any("ab倀" in case.text for case in cases)
