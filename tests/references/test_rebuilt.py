import json
from dataclasses import replace
from pathlib import Path

import pytest

from support.locations import request
from support.spec_maker import CONTROL, bpe_spec
from tokverify.case import Case
from tokverify.compare.comparison import verify_tokenizers
from tokverify.engine.encoder import Encoder
from tokverify.engine.families import find_family
from tokverify.engine.settings import resolve
from tokverify.errors import TokverifyError, UnsupportedError
from tokverify.references.rebuilt import CAVEAT, load, rebuild
from tokverify.references.reference import FoundReference
from tokverify.report.tokenizer_difference import Verdict
from tokverify.sources.gguf.declaration import read_spec
from tokverify.spec import TokenizerSpec, TokenType

N, C, U, B = TokenType.NORMAL, TokenType.CONTROL, TokenType.USER_DEFINED, TokenType.BYTE

SPM = TokenizerSpec(
    model="llama",
    tokens=["<unk>", "<s>", "</s>", "<0xF0>", "▁", "a", "b", "▁a", "ab", "▁ab", "  ", "<s"],
    scores=[0, 0, 0, 0, -8, -9, -10, -3, -2, -1, -1000, -1000],
    types=[TokenType.UNKNOWN, C, C, B, N, N, N, N, N, N, U, N],
    special_ids={"bos": 1, "eos": 2, "unk": 0},
)
GPT2 = TokenizerSpec(
    model="gpt2",
    pre="gpt-2",
    tokens=["a", "b", "Ġ", "Ġa", "ab", "Ġab", "<|end|>", "1", "11", "111", "1111"],
    merges=["Ġ a", "a b", "Ġa b", "1 1", "11 1", "11 11"],
    types=[N, N, N, N, N, N, C, N, N, N, N],
    special_ids={"bos": 6, "eos": 6},
)


def encode(spec, text, *, add_special=False, parse_special=True):
    found = rebuild(spec, resolve(spec))
    return found.tokenizer.encode(text, add_special=add_special, parse_special=parse_special)


def test_spm_merges_the_highest_score_first():
    # Of "▁ab", "ab" (-2) merges before "▁a" (-3), and then both to "▁ab" (-1).
    assert encode(SPM, "ab") == [9]
    # Without the whole, "ab" still wins over "▁a".
    without = replace(SPM, tokens=[*SPM.tokens[:9], "x", *SPM.tokens[10:]])
    assert encode(without, "ab") == [4, 8]


def test_spm_added_tokens_space_prefix_and_specials():
    assert encode(SPM, "a") == [7]
    assert encode(replace(SPM, add_space_prefix=False), "a") == [5]
    assert encode(SPM, "a  a") == [7, 10, 7]
    assert encode(SPM, "a<s>a") == [7, 1, 7]
    assert encode(SPM, "", add_special=True) == [1]
    assert encode(replace(SPM, add_eos=True), "a", add_special=True) == [1, 7, 2]


def test_spm_never_merges_to_a_control_token():
    tokens = [*SPM.tokens, "<", "s", ">"]
    types, scores = [*SPM.types, N, N, N], [*SPM.scores, -1, -1, -1]
    spec = replace(SPM, tokens=tokens, types=types, scores=scores, add_space_prefix=False)
    assert encode(spec, "<s>", parse_special=False) == [11, 14]


def test_spm_falls_back_to_bytes_or_else_to_the_unknown_token():
    tokens = [*SPM.tokens, "<0xC3>", "<0xA9>"]
    spec = replace(SPM, tokens=tokens, types=[*SPM.types, B, B], scores=[*SPM.scores, 0, 0])
    assert encode(replace(spec, add_space_prefix=False), "aé") == [5, 12, 13]
    assert encode(replace(SPM, add_space_prefix=False), "aé") == [5, 0]


def test_spm_decodes():
    tokenizer = rebuild(SPM, resolve(SPM)).tokenizer
    assert tokenizer.decode([9, 7]) == b"ab a"
    assert [tokenizer.token_bytes(id) for id in (9, 3, 10, 1)] == [b" ab", b"\xf0", b"  ", b"<s>"]


def test_byte_level_merges_by_rank():
    assert encode(GPT2, "ab ab<|end|>") == [4, 5, 6]
    assert encode(replace(GPT2, add_bos=True), "ab", add_special=True) == [6, 4]


@pytest.mark.parametrize(
    ("pre", "ids"),
    [("gpt-2", [10]), ("mpt", [10]), ("llama-bpe", [9, 7]), ("qwen2", [7, 7, 7, 7]), ("default", [9, 7])],
)
def test_each_pre_tokenizer_cuts_numbers_its_own_way(pre, ids):
    assert encode(replace(GPT2, pre=pre), "1111") == ids


@pytest.mark.parametrize(("text", "name"), [("<s>", "<s>"), ("<s:1>", "BOS"), ("$A", "BOS"), ("< s>", "BOS")])
def test_a_template_names_bos_by_its_text_unless_that_has_a_meaning_there(text, name):
    spec = bpe_spec([], {text: CONTROL}, special_ids={"bos": 256}, add_bos=True)
    found = rebuild(spec, resolve(spec))
    template = json.loads(found.tokenizer.library.to_str())["post_processor"]
    assert template["special_tokens"] == {name: {"id": name, "ids": [256], "tokens": [name]}}
    assert encode(spec, "a", add_special=True) == [256, ord("a")]


def test_llama_bpe_takes_a_whole_word_before_any_merge():
    spec = replace(GPT2, pre="llama-bpe", merges=["a b"])
    assert encode(spec, " ab") == [5]
    assert encode(replace(spec, pre="qwen2"), " ab") == [2, 4]


def test_a_merge_named_twice_keeps_its_first_rank():
    # "a b" first: "Ġab" is cut "Ġ ab"; its second mention comes after "Ġ a", which must not matter.
    assert encode(replace(GPT2, merges=["a b", "Ġ a", "a b"]), " ab") == [2, 4]


def test_gemma4_merges_ranks_over_escaped_spaces():
    spec = TokenizerSpec(
        model="gemma4",
        tokens=["<unk>", "<bos>", "▁", "a", "▁a", "a▁", "\n", "<0xC3>", "<0xA9>"],
        merges=["a ▁", "▁ a"],
        types=[TokenType.UNKNOWN, C, N, N, N, N, N, B, B],
        special_ids={"bos": 1, "unk": 0},
    )
    assert encode(spec, "a a\né", add_special=True) == [1, 5, 3, 6, 7, 8]
    assert rebuild(spec, resolve(spec)).tokenizer.decode([5, 4]) == b"a  a"


def test_provenance():
    found = load(request("", GPT2))
    assert isinstance(found, FoundReference)
    assert (found.source, found.tokenizer.name, found.caveat) == ("rebuilt", "rebuilt", CAVEAT)
    assert found.tokenizer.special_ids["bos"] == 6


@pytest.mark.parametrize(
    "spec",
    [
        replace(GPT2, tokens=[*GPT2.tokens, "dummy7"], types=[*GPT2.types, TokenType.UNUSED]),
        replace(SPM, tokens=[*SPM.tokens, "dummy7"], types=[*SPM.types, TokenType.UNUSED], scores=[*SPM.scores, 0]),
    ],
)
def test_unused_tokens_are_unused_on_both_sides_whatever_they_are_called(spec):
    found = rebuild(spec, resolve(spec))
    assert found.tokenizer.token_types()[-1] is TokenType.UNUSED
    report = verify_tokenizers(Encoder(spec), found.tokenizer, [Case(id="1", suite="s", text="ab")])
    assert (report.verdict, report.differences) == (Verdict.EQUAL, ())


def test_tied_scores_are_a_caveat():
    assert rebuild(SPM, resolve(SPM)).caveat == CAVEAT
    tied = replace(SPM, scores=[*SPM.scores[:5], -9, -9, *SPM.scores[7:]])
    assert rebuild(tied, resolve(tied)).caveat == (
        CAVEAT + "; 2 pieces share a score, and this engine may merge those in another order"
    )


def test_without_a_gguf_file_there_is_nothing_to_rebuild():
    with pytest.raises(TokverifyError, match="no GGUF file from which to rebuild"):
        load(request(""))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"merges": ["a x"]}, r"cannot hold merge 0, 'a x'"),
        ({"merges": ["a b", "b a"]}, r"cannot hold merge 1, 'b a'"),
        ({"merges": ["ab"]}, r"cannot hold merge 0, 'ab'"),
        ({"tokens": [*GPT2.tokens[:-1], "\udcff"]}, "the token 10 is not valid UTF-8"),
    ],
)
def test_a_vocabulary_that_the_library_cannot_hold_is_unsupported(change, message):
    with pytest.raises(UnsupportedError, match=message):
        load(request("", replace(GPT2, **change)))


def test_models_that_cannot_be_rebuilt_are_unsupported():
    settings = resolve(GPT2)
    for change in ({"family": find_family("rwkv")}, {"pre": "tekken"}):
        with pytest.raises(UnsupportedError, match="cannot rebuild the model 'gpt2' with the pre-tokenizer"):
            rebuild(GPT2, replace(settings, **change))


@pytest.mark.parametrize("name", ["gpt-2", "llama-spm", "mpt", "qwen2"])
def test_real_vocabularies_agree_with_llama_cpp(vocabs: Path, golden, name):
    spec = read_spec(vocabs / f"{name}.gguf")
    tokenizer = load(request("", spec)).tokenizer
    assert [
        text
        for text, add_special, parse_special, ids in golden(name)
        if tokenizer.encode(text, add_special=add_special, parse_special=parse_special) != ids
    ] == []


@pytest.mark.parametrize("pre", ["default", "gpt-2", "llama-bpe", "mpt", "qwen2"])
def test_pre_tokenizers_agree_with_llama_cpp(vocabs: Path, golden, pre):
    spec = replace(read_spec(vocabs / "gpt-2.gguf"), pre=pre)
    tokenizer = load(request("", spec)).tokenizer
    rows = list(golden(f"pre/{pre}"))
    assert [
        text
        for text, add_special, parse_special, ids in rows
        if tokenizer.encode(text, add_special=add_special, parse_special=parse_special) != ids
    ] == []


@pytest.mark.slow(reason="two seconds each to rebuild 262,144 tokens")
@pytest.mark.parametrize("name", ["gemma-3", "gemma-4"])
def test_large_vocabularies_agree_with_llama_cpp(vocabs: Path, golden, name):
    test_real_vocabularies_agree_with_llama_cpp(vocabs, golden, name)
