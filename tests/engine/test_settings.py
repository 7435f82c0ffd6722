from dataclasses import replace

import pytest

from support.spec_maker import CONTROL, USER_DEFINED, bpe_spec, spm_spec
from tokverify.engine.families import FAMILIES, find_family
from tokverify.engine.joined_strings import JoinedStrings
from tokverify.engine.override import Override
from tokverify.engine.settings import resolve
from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.spec import TokenizerSpec

NORMAL = 1


def test_defaults_of_a_llama_file():
    settings = resolve(spm_spec({"a": 0}))
    assert settings.algorithm == "spm"
    assert settings.special_ids == {"bos": 1, "eos": 2, "unk": 0}
    assert settings.add_bos
    assert settings.add_space_prefix
    assert settings.escape_whitespaces
    assert not settings.add_eos
    assert not settings.clean_spaces
    assert not settings.ignore_merges


def test_defaults_of_a_gpt2_file():
    settings = resolve(bpe_spec([]))
    assert settings.algorithm == "bpe"
    assert settings.special_ids == {"bos": 11, "eos": 11}
    assert not settings.add_bos
    assert not settings.add_space_prefix
    assert not settings.escape_whitespaces
    assert settings.clean_spaces


def test_declared_values_take_precedence():
    spec = spm_spec({"a": 0}, add_bos=False, add_eos=True, add_space_prefix=False, special_ids={"bos": 5, "pad": 0})
    settings = resolve(spec)
    assert not settings.add_bos
    assert settings.add_eos
    assert not settings.add_space_prefix
    assert settings.special_ids == {"bos": 5, "eos": 2, "unk": 0, "pad": 0}


def test_a_default_id_outside_the_vocabulary_is_none():
    assert resolve(TokenizerSpec(model="gpt2", tokens=["a"], merges=[], pre="gpt-2")).special_ids == {}
    assert resolve(TokenizerSpec(model="llama", tokens=["a", "b"])).special_ids == {"bos": 1, "unk": 0}


def test_defaults_in_use_are_reported():
    overrides = {override.setting: str(override) for override in resolve(spm_spec({"a": 0})).overrides}
    assert overrides["add_bos"] == "add_bos: not declared, effective True (llama.cpp's default for the model llama)"
    assert overrides["bos id"] == "bos id: not declared, effective 1 (llama.cpp's default for the model llama: '<s>')"
    assert str(Override("x", 1, 2, "y")) == "x: declared 1, effective 2 (y)"


def test_nothing_is_reported_if_the_file_declares_everything():
    flags = {"add_bos": True, "add_space_prefix": True}
    types = {"</s>": CONTROL}
    assert resolve(spm_spec({"a": 0}, types, special_ids={"bos": 1, "eos": 2, "unk": 0}, **flags)).overrides == ()


def test_the_declared_tokenizer_stays_as_it_was():
    spec = bpe_spec([], {"<|im_end|>": NORMAL}, special_ids={"bos": 0})
    before = (dict(spec.special_ids), list(spec.types), list(spec.tokens))
    resolve(spec)
    assert (spec.special_ids, spec.types, spec.tokens) == before


def test_an_unknown_model_is_unsupported():
    with pytest.raises(UnsupportedError, match=r"tokenizer\.ggml\.model is 'new'; tokverify knows llama, gpt2"):
        resolve(TokenizerSpec(model="new", tokens=["a"]))


def test_an_unknown_pre_tokenizer_is_unsupported():
    with pytest.raises(UnsupportedError, match=r"tokenizer\.ggml\.pre is 'new'; tokverify knows default, gpt-2"):
        resolve(bpe_spec([], pre="new"))


def test_a_known_pre_tokenizer_is_suggested_regardless_of_case_and_separators():
    for pre in ("gpt2-typo", "GPT-2", "gpt_2"):
        with pytest.raises(UnsupportedError, match=r"; did you mean gpt-2\b"):
            resolve(bpe_spec([], pre=pre))


def test_only_byte_pair_models_look_at_the_pre_tokenizer():
    assert resolve(spm_spec({"a": 0}, pre="new")).pre == "default"


@pytest.mark.parametrize("pre", [None, ""])
def test_a_missing_pre_tokenizer_is_the_default_one(pre: str | None):
    settings = resolve(bpe_spec([], pre=pre))
    assert settings.pre == "default"
    assert [override.reason for override in settings.overrides if override.setting == "pre"] == ["the file names none"]


def test_gemma4_implies_its_pre_tokenizer_and_bos():
    spec = replace(bpe_spec([], pre="qwen2"), model="gemma4", add_bos=False)
    settings = resolve(spec)
    assert settings.pre == "gemma4"
    assert settings.add_bos
    assert settings.escape_whitespaces
    assert settings.special_ids == {}
    overrides = {override.setting: (override.declared, override.effective) for override in settings.overrides}
    assert overrides == {"pre": ("qwen2", "gemma4"), "add_bos": (False, True)}


def test_names_that_imply_settings():
    assert resolve(bpe_spec([], pre="llama-bpe")).add_bos
    assert not resolve(bpe_spec([], pre="llama-bpe", add_bos=False)).add_bos
    assert resolve(bpe_spec([], pre="llama-bpe")).ignore_merges
    assert resolve(bpe_spec([], pre="chatglm-bpe")).special_ids == {"eos": 11}
    assert resolve(bpe_spec([], pre="chatglm-bpe", special_ids={"bos": 3})).special_ids == {"bos": 3, "eos": 11}
    assert resolve(bpe_spec([], pre="roberta-bpe")).add_sep
    assert not resolve(bpe_spec([], pre="qwen2")).clean_spaces


@pytest.mark.parametrize("model", FAMILIES)
def test_each_model_can_be_resolved(model: str):
    settings = resolve(TokenizerSpec(model=model, tokens=["a", "b"], merges=[]))
    assert settings.family is find_family(model)
    assert settings.family.model == model
    assert list(settings.ids) == ["a", "b"]


def test_tokens_are_cut_at_nul_and_never_empty():
    settings = resolve(TokenizerSpec(model="llama", tokens=["a\0b", "", "\0c", "d"]))
    assert list(settings.pieces) == ["a", "[EMPTY_1]", "[EMPTY_2]", "d"]
    # Joined, so that the native engine indexes them.
    assert isinstance(settings.pieces, JoinedStrings)


@pytest.mark.parametrize("tokens", [["a", "b", "a"], ["a", "b", "a\0"], ["[EMPTY_2]", "b", ""]])
def test_a_token_listed_twice_is_refused(tokens: list[str]):
    with pytest.raises(BrokenFileError, match=r"twice, as ids 0 and 2 \(1 duplicate in all\); llama.cpp aborts[^;]*$"):
        resolve(TokenizerSpec(model="llama", tokens=tokens))


def test_a_token_listed_twice_because_of_another_alphabet_is_refused_with_the_reason():
    with pytest.raises(
        BrokenFileError, match=r"'Ġ' twice.*; 4 tokens begin with Ġ, and 0 with ▁, which its model uses"
    ):
        resolve(TokenizerSpec(model="llama", tokens=["a", "Ġ", "Ġa", "Ġthe", "Ġ"]))


def test_tokens_that_are_listed_twice_because_they_were_cut_off_are_refused_with_the_reason():
    longer = [f"{letter}bcd{ending}" for letter in "abcdefgh" for ending in ("ef", "gh")]
    with pytest.raises(
        BrokenFileError, match=r"8 duplicates in all.*; all of these have 4 characters, and no ordinary"
    ):
        resolve(TokenizerSpec(model="llama", tokens=["a", "b", *(text[:4] for text in longer)]))
    with pytest.raises(BrokenFileError, match=r"such a file$"):
        resolve(TokenizerSpec(model="llama", tokens=["a", "b", *longer, *longer, "longest"]))


def test_added_tokens_are_in_the_order_of_their_lengths_in_bytes():
    types = {"<a>": USER_DEFINED, "<bb>": CONTROL, "éé": USER_DEFINED, "xyz": CONTROL}
    added = resolve(spm_spec(dict.fromkeys(types, 0), types, byte_pieces=False)).added_tokens
    assert [(token.text, token.special) for token in added] == [
        ("<unk>", True), ("</s>", True), ("<bb>", True), ("éé", False), ("<s>", True), ("<a>", False), ("xyz", True),
    ]  # fmt: skip


PHI3 = {"</s>": CONTROL, "<unk>": CONTROL, "<s>": CONTROL, "<|endoftext|>": CONTROL, "<|user|>": USER_DEFINED}


def stripping(spec: TokenizerSpec) -> dict[str, str]:
    return {
        token.text: "lstrip" * token.lstrip + "rstrip" * token.rstrip
        for token in resolve(spec).added_tokens
        if token.lstrip or token.rstrip
    }


@pytest.mark.parametrize("name", ["Phi-3 mini", "my PHI3"])
def test_phi_3_is_recognized_by_its_name(name: str):
    assert stripping(bpe_spec([], PHI3, general={"name": name})) == {"</s>": "rstrip", "<|user|>": "rstrip"}
    assert stripping(bpe_spec([], PHI3, general={"name": "Phi 3"})) == {}
    assert stripping(bpe_spec([], PHI3)) == {}


@pytest.mark.parametrize("missing", ["</s>", "<unk>", "<s>", "<|endoftext|>"])
def test_phi_3_without_its_tokens_is_refused(missing: str):
    added = {text: type for text, type in PHI3.items() if text != missing}
    with pytest.raises(
        BrokenFileError, match=f"'phi-3' makes llama.cpp look for the token '{missing}'".replace("|", r"\|")
    ):
        resolve(bpe_spec([], added, general={"name": "phi-3"}))


MASKS = {"<mask>": CONTROL, "[MASK]": CONTROL}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"pre": "jina-v2-de"}, {"<mask>": "lstrip"}),
        ({"pre": "jina-v2-code"}, {"<mask>": "lstrip"}),
        ({"general": {"architecture": "nomic-bert-moe"}}, {"<mask>": "lstrip"}),
        ({"general": {"architecture": "jina-bert-v3", "name": "phi-3"}}, {"<mask>": "lstrip"}),
        ({"general": {"name": "Modern-BERT base"}}, {"[MASK]": "lstrip"}),
        ({"general": {"name": "ModernBERT"}}, {}),
        ({"pre": "jina-de"}, {}),
    ],
)
def test_masks_strip_by_the_models_names(fields: dict[str, object], expected: dict[str, str]):
    assert stripping(bpe_spec([], MASKS, **fields)) == expected


def test_a_special_id_out_of_range_is_ignored_and_said():
    spec = spm_spec({"a": -1}, byte_pieces=False, special_ids={"eos": 4, "pad": 0xFFFFFFFF, "bos": 2})
    settings = resolve(spec)
    assert settings.special_ids == {"bos": 2, "eos": 2, "unk": 0}
    assert {str(each) for each in settings.overrides if each.setting in {"eos id", "pad id"}} == {
        "eos id: declared 4, effective 2 (llama.cpp's default for the model llama: '</s>')",
        "pad id: declared 4294967295, effective None (llama.cpp ignores what is out of range for 4 tokens)",
    }


def test_a_missing_mask_token_is_not_an_error():
    assert stripping(bpe_spec([], pre="jina-v2-de")) == {}


def test_normalizer_flags_follow_each_other():
    bert = TokenizerSpec(model="bert", tokens=["a"])
    flags = {
        (spec.lowercase, spec.strip_accents): (resolve(spec).lowercase, resolve(spec).strip_accents)
        for spec in (
            replace(bert, lowercase=low, strip_accents=strip)
            for low in (None, True, False)
            for strip in (None, True, False)
        )
    }
    assert flags == {
        (None, None): (True, True), (None, True): (True, True), (None, False): (True, False),
        (True, None): (True, True), (True, True): (True, True), (True, False): (True, False),
        (False, None): (False, False), (False, True): (False, True), (False, False): (False, False),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"special_ids": {"bos": -1}}, "the bos id -1 is out of range for 3 tokens"),
        ({"special_ids": {"pad": 1 << 40}}, "the pad id 1099511627776 is out of range"),
        ({"scores": [0.0, 1.0]}, "there are 2 scores for 3 tokens"),
        ({"types": [1, 1, 1, 1]}, "there are 4 types for 3 tokens"),
    ],
)
def test_a_list_of_another_length_than_the_tokens_is_broken(fields: dict[str, object], message: str):
    with pytest.raises(BrokenFileError, match=message):
        resolve(TokenizerSpec(model="llama", tokens=["<unk>", "<s>", "a"], **fields))
