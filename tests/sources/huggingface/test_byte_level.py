import json
from itertools import combinations

import pytest
from tokenizers import AddedToken, Regex, Tokenizer, normalizers, pre_tokenizers, processors

from support.byte_level_maker import train_byte_level
from tokverify.engine.encoder import Encoder
from tokverify.engine.pre_search import PROBES
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, splitter
from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.sources.huggingface.conversion import read_spec

_CL100K = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_DEEPSEEK = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def by(*patterns, use_regex=False):
    """Splits by patterns, then the byte-level alphabet, as tokenizer.json files have it."""
    splits = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns]
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)
    return pre_tokenizers.Sequence([*splits, byte_level])


GPT2 = pre_tokenizers.ByteLevel(add_prefix_space=False)
BOS = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])


def train(pre_tokenizer, **options):
    content = json.loads(train_byte_level(pre_tokenizer, "<s>", "</s>").to_str())
    content["model"] |= options
    return Tokenizer.from_str(json.dumps(content))


@pytest.mark.parametrize(
    ("pre_tokenizer", "options", "post_processor", "name"),
    [
        (GPT2, {}, None, "gpt-2"),
        (by(_CL100K % r"\p{N}"), {}, None, "qwen2"),
        (by(_CL100K % r"\p{N}{1,3}"), {}, None, "dbrx"),
        # Of the names that cut texts so, llama-bpe implies what this one says of merges and of BOS.
        (by(_CL100K % r"\p{N}{1,3}"), {"ignore_merges": True}, BOS, "llama-bpe"),
        (by(r"\p{N}", use_regex=True), {}, None, "starcoder"),
        (by(r"\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+", _DEEPSEEK), {}, BOS, "deepseek-v3"),
        (by(r" ?[^(\s|[.,!?…。，、।۔،])]+"), {}, None, "bloom"),
    ],
)
def test_the_name_is_found_by_behavior(require_equal, pre_tokenizer, options, post_processor, name):
    tokenizer = train(pre_tokenizer, **options)
    if post_processor:
        tokenizer.post_processor = post_processor
    spec = require_equal(tokenizer)
    assert (spec.model, spec.pre) == ("gpt2", name)
    assert (spec.add_bos, spec.add_eos) == (post_processor is not None, False)


def test_the_probes_distinguish_all_different_pre_tokenizers():
    cuts = {}
    for name, pre_tokenizer in PRE_TOKENIZERS.items():
        cuts.setdefault(pre_tokenizer.patterns, (name, [splitter(pre_tokenizer)(text) for text in PROBES]))
    same = {first[0] + " " + second[0] for first, second in combinations(cuts.values(), 2) if first[1] == second[1]}
    # `\s*[\r\n]` and `\s*[\r\n]+` match the same, since the former takes all it can.
    assert same <= {"stablelm2 bailingmoe"}


def test_added_tokens_and_tokens_around_a_text(require_equal):
    tokenizer = train(GPT2)
    tokenizer.add_tokens([AddedToken("<tool>", normalized=False), AddedToken("fox", normalized=False)])
    tokenizer.add_special_tokens(["<turn>"])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    # llama.cpp treats `</s>` as a control token regardless of the file; here the file agrees.
    spec = require_equal(tokenizer)
    assert spec.special_ids == {"bos": 0, "eos": 1}
    assert (spec.add_bos, spec.add_eos) == (True, True)
    assert [spec.types[tokenizer.token_to_id(text)] for text in ("<s>", "<tool>", "fox", "<turn>", "Ġ")] == [
        3,
        4,
        4,
        3,
        1,
    ]


def test_old_files_write_merges_as_strings_and_no_type(read):
    content = json.loads(train(GPT2).to_str())
    new = read(json.dumps(content))
    content["model"] = {
        "vocab": content["model"]["vocab"],
        "merges": [" ".join(merge) for merge in content["model"]["merges"]],
    }
    assert read(json.dumps(content)) == new


def test_ids_without_a_token_are_unused(read):
    content = json.loads(train(GPT2).to_str())
    content["model"]["vocab"]["last"] = 400
    spec = read(json.dumps(content))
    assert spec.tokens[399:] == ["[PAD399]", "last"]
    assert spec.types[399:] == [5, 1]


def test_roles_are_declared_by_the_files_next_to_it(read, tmp_path):
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "</s>", "pad_token": "absent", "cls_token": "<s>"}')
    assert read(train(GPT2)).special_ids == {"eos": 1}


def test_a_name_is_chosen_that_decodes_as_the_files_next_to_it_say(tmp_path):
    path, config = tmp_path / "tokenizer.json", tmp_path / "tokenizer_config.json"
    path.write_text(train(GPT2).to_str())
    for cleans, name in (("false", "trillion"), ("true", "gpt-2"), ("null", "gpt-2")):
        config.write_text(f'{{"clean_up_tokenization_spaces": {cleans}}}')
        assert read_spec(path).pre == name


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"normalizer": normalizers.NFC()}, "normalizer NFC: GGUF cannot express it"),
        ({"normalizer": normalizers.Sequence([normalizers.Lowercase()])}, "normalizer Lowercase"),
        ({"pre_tokenizer": pre_tokenizers.ByteLevel(add_prefix_space=True)}, "add_prefix_space"),
        (
            {"pre_tokenizer": by("x+")},
            "pre_tokenizer: llama.cpp has no pre-tokenizer that splits texts like this; the most similar, ",
        ),
        # llama.cpp's own version of GPT-4o's pattern takes combining marks for no part of a word.
        ({"pre_tokenizer": by(_O200K)}, "model.ignore_merges: is False, but .*granite-embed-multi-97m"),
        (
            {"post_processor": processors.TemplateProcessing(single="<s> <s> $A", special_tokens=[("<s>", 0)])},
            "post_processor: adds 2 tokens before a text",
        ),
        (
            {
                "post_processor": processors.TemplateProcessing(
                    single="<s> $A </s> </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
                )
            },
            "post_processor: adds 2 tokens after a text",
        ),
        (
            {"post_processor": processors.TemplateProcessing(single="$A $A", special_tokens=[])},
            "post_processor TemplateProcessing: contains the text 2 times",
        ),
    ],
)
def test_a_stage_that_gguf_cannot_express_is_named(read, change, named):
    tokenizer = train(GPT2)
    for stage, value in change.items():
        setattr(tokenizer, stage, value)
    with pytest.raises(UnsupportedError, match=named):
        read(tokenizer)


@pytest.mark.parametrize(("option", "value"), [("continuing_subword_prefix", "##"), ("end_of_word_suffix", "</w>")])
def test_an_option_that_gguf_cannot_express_is_named(read, option, value):
    content = json.loads(train(GPT2).to_str())
    content["model"][option] = value
    with pytest.raises(UnsupportedError, match=f"model.{option}"):
        read(json.dumps(content))


@pytest.mark.parametrize(
    ("change", "error", "problem"),
    [
        ({"vocab": 1}, BrokenFileError, "model.vocab: must map pieces to ids"),
        ({"vocab": {"a": "b"}}, BrokenFileError, "model.vocab: must map pieces to ids"),
        ({"vocab": {"a": True}}, BrokenFileError, "model.vocab: must map pieces to ids"),
        ({"vocab": {"a": -1}}, BrokenFileError, "model.vocab: must map pieces to ids"),
        ({"vocab": {"a": 5, "b": 5}}, BrokenFileError, "two tokens have the same id"),
        ({"vocab": {"a": 10**12}}, BrokenFileError, "the highest id is 1000000000000, but there are only 3 tokens"),
        ({"vocab": {"\ud800": 5}}, BrokenFileError, "lone surrogate"),
        ({"merges": {}}, BrokenFileError, "model.merges: must be a list"),
        ({"merges": ["a"]}, BrokenFileError, "model.merges: merge 0 must be two pieces"),
        ({"merges": ["a b", "a b c"]}, BrokenFileError, "merge 1 must be two pieces"),
        ({"merges": [["a", 1]]}, BrokenFileError, "merge 0 must be two pieces"),
        ({"merges": [7]}, BrokenFileError, "merge 0 must be two pieces"),
        ({"merges": [["a b", "c"]]}, UnsupportedError, "merge 0 contains a space"),
    ],
)
def test_an_invalid_model_gives_one_clear_line(read, change, error, problem):
    content = json.loads(train(GPT2).to_str())
    content["model"] |= change
    with pytest.raises(error, match=problem) as raised:
        read(json.dumps(content))
    assert "tokenizer.json: " in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_real_gpt_2(shared):
    encoder = Encoder(read_spec(shared / "vocabs" / "gpt-2.tokenizer.json"))
    assert encoder.settings.pre == "gpt-2"
    for line in (shared / "golden" / "gpt-2.jsonl").read_text().splitlines():
        row = json.loads(line)
        options = {"add_special": row["add_special"], "parse_special": row["parse_special"]}
        assert encoder.encode(row["text"], **options) == row["ids"], row


def test_the_normalizer_of_the_real_mpt_is_left_out(vocabs):
    (left_out,) = read_spec(vocabs / "mpt.tokenizer.json").left_out
    assert left_out.startswith("normalizer NFC")


@pytest.mark.parametrize(
    ("change", "left_out"),
    [
        ({}, []),
        ({"normalizer": normalizers.NFC()}, ["normalizer NFC"]),
        ({"pre_tokenizer": by(_O200K)}, ["model.ignore_merges: is False"]),
        ({"pre_tokenizer": by(_O200K), "normalizer": normalizers.NFC()}, ["normalizer NFC", "model.ignore_merges"]),
        (
            {"post_processor": processors.TemplateProcessing(single="<s> <s> $A", special_tokens=[("<s>", 0)])},
            ["post_processor: 2 tokens before a text"],
        ),
    ],
)
def test_what_gguf_cannot_express_is_left_out_and_named(tmp_path, change, left_out):
    tokenizer = train(GPT2)
    for stage, value in change.items():
        setattr(tokenizer, stage, value)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    spec = read_spec(tmp_path / "tokenizer.json")
    assert len(spec.left_out) == len(left_out)
    assert all(sentence.startswith(start) for sentence, start in zip(spec.left_out, left_out, strict=True))
    assert Encoder(spec).encode("a", add_special=False) == tokenizer.encode("a", add_special_tokens=False).ids


def test_the_space_before_a_text_is_left_out_and_named(tmp_path):
    tokenizer = train(GPT2)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    spec = read_spec(tmp_path / "tokenizer.json")
    assert spec.pre == "gpt-2"
    assert [sentence.partition(":")[0] for sentence in spec.left_out] == ["pre_tokenizer ByteLevel add_prefix_space"]
    assert Encoder(spec).encode(" a", add_special=False) == tokenizer.encode("a", add_special_tokens=False).ids


def test_what_has_no_nearest_form_is_refused(tmp_path):
    tokenizer = train(GPT2)
    tokenizer.pre_tokenizer = by("x+")
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(UnsupportedError, match="pre_tokenizer"):
        read_spec(tmp_path / "tokenizer.json")
