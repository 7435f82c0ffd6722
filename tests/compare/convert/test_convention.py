"""What a converted file declares as llama.cpp's converter would."""

from dataclasses import replace

import pytest

from support.spec_maker import CONTROL, USER_DEFINED, bpe_spec, unigram_spec
from tokverify.compare.convert.convention import follow_conventions

SPEC = bpe_spec([], {"<|user|>": USER_DEFINED, "<b>": USER_DEFINED, "<|endoftext|>": CONTROL, "<c>": CONTROL})


def test_only_added_tokens_that_look_special_become_control_tokens():
    spec, (types, _) = follow_conventions(SPEC, "tokenizers")
    assert [spec.types[SPEC.tokens.index(text)] for text in ("<|user|>", "<b>")] == [CONTROL, USER_DEFINED]
    assert (
        types
        == f'1 token typed CONTROL because of the text, as in llama.cpp: {SPEC.tokens.index("<|user|>")} "<|user|>"'
    )
    assert follow_conventions(SPEC, "sentencepiece")[0].types == SPEC.types


def test_the_token_that_is_named_like_an_end_is_eos_if_none_is_declared():
    end = SPEC.tokens.index("<|endoftext|>")
    spec, sentences = follow_conventions(SPEC, "tiktoken")
    assert spec.special_ids == {"eos": end}
    assert sentences == (f'IN declares no EOS token, so it is {end} "<|endoftext|>", which is named like one',)


def test_nothing_changes_if_eos_is_declared_or_nothing_is_named_like_it():
    for spec in (replace(SPEC, special_ids={"eos": 1}), bpe_spec([], {"<b>": CONTROL, "<c>": CONTROL})):
        assert follow_conventions(spec, "tiktoken") == (spec, ())


@pytest.mark.parametrize(("model", "kept"), [("t5", b"charsmap"), ("llama", None)])
def test_only_a_model_that_normalizes_with_a_charsmap_keeps_it(model: str, kept: bytes | None):
    spec = replace(unigram_spec({"a": -1.0}), model=model, charsmap=b"charsmap")
    assert follow_conventions(spec, "sentencepiece")[0].charsmap == kept
