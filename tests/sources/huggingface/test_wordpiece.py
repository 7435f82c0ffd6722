import json

import pytest
from tokenizers import Regex, models, normalizers, pre_tokenizers, processors

from support.sentencepiece_maker import WORDS
from tokverify.engine.encoder import Encoder
from tokverify.engine.word_splitting import DROPPED, PUNCTUATION, SPACES
from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.sources.huggingface.conversion import read_spec

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
PIECES = [*SPECIAL, *sorted({*WORDS, "##s", "##ed", "f", "##o", "##x", ".", ",", "'", "ete", "heron"})]
IDS = {piece: id for id, piece in enumerate(PIECES)}
AROUND = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
STAGES = {
    "normalizer": normalizers.BertNormalizer(),
    "pre_tokenizer": pre_tokenizers.BertPreTokenizer(),
    "post_processor": AROUND,
}

FOLLOWING = STAGES | {
    "normalizer": normalizers.Sequence(
        [
            normalizers.Replace(Regex(SPACES), " "),
            normalizers.Replace(Regex(DROPPED), ""),
            normalizers.BertNormalizer(lowercase=False, strip_accents=False),
        ]
    ),
    "pre_tokenizer": pre_tokenizers.Sequence(
        [pre_tokenizers.BertPreTokenizer(), pre_tokenizers.Split(Regex(PUNCTUATION), "isolated")]
    ),
}


def wordpiece(ids=IDS, **options):
    return models.WordPiece(ids, **{"unk_token": "[UNK]", **options})


def test_pieces_are_marked_where_a_word_begins(convert):
    spec = convert(wordpiece(), [(text, True) for text in SPECIAL], **STAGES)
    assert spec.model == "bert"
    assert spec.tokens[:4] == SPECIAL
    assert {"▁fox", "s", "▁."} <= set(spec.tokens)
    assert (spec.lowercase, spec.strip_accents) == (True, None)
    assert spec.special_ids == {"unk": 1, "bos": 2, "sep": 3}


@pytest.mark.parametrize(
    "flags", [{}, {"lowercase": False}, {"strip_accents": False}, {"lowercase": False, "strip_accents": True}]
)
def test_every_flag_that_gguf_has_is_kept(make, require_equal, flags):
    stages = STAGES | {"normalizer": normalizers.BertNormalizer(**flags)}
    require_equal(make(wordpiece(), [(text, True) for text in SPECIAL], **stages))


def test_a_template_is_equivalent(convert):
    template = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", IDS["[CLS]"]), ("[SEP]", IDS["[SEP]"])]
    )
    added = [(text, True) for text in SPECIAL]
    other = convert(wordpiece(), added, **STAGES | {"post_processor": template})
    assert other == convert(wordpiece(), added, **STAGES)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"normalizer": normalizers.BertNormalizer(clean_text=False)}, "BertNormalizer: clean_text and"),
        ({"normalizer": normalizers.BertNormalizer(handle_chinese_chars=False)}, "BertNormalizer: clean_text and"),
        ({"normalizer": normalizers.Lowercase()}, "normalizer: with WordPiece"),
        ({"pre_tokenizer": pre_tokenizers.Whitespace()}, "pre_tokenizer: with WordPiece"),
        ({"post_processor": processors.ByteLevel()}, "post_processor: llama.cpp always adds"),
    ],
)
def test_a_stage_that_gguf_cannot_express_is_named(convert, change, named):
    with pytest.raises(UnsupportedError, match=named):
        convert(wordpiece(), **STAGES | change)


def test_stages_that_match_llama_cpp_where_it_differs_from_bert(make, require_equal):
    """With them, accents kept, and characters that no stage can treat alike as tokens, all texts agree."""
    from tokverify.engine.word_splitting import UNEQUAL
    from tokverify.spec import TokenType

    added = [*((text, True) for text in SPECIAL), *((text, False) for text in UNEQUAL[1:])]
    spec = require_equal(make(wordpiece(), added, **FOLLOWING))
    assert (spec.lowercase, spec.strip_accents) == (False, False)
    assert {(spec.tokens[id], type) for id, type in enumerate(spec.types) if type == TokenType.USER_DEFINED} == {
        (text, TokenType.USER_DEFINED) for text in UNEQUAL[1:]
    }


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (
            {"normalizer": normalizers.BertNormalizer(lowercase=False)},
            r"Split: with this stage, \\x0b inside a word",
        ),
        ({"normalizer": normalizers.Sequence([normalizers.NFC(), normalizers.BertNormalizer()])}, "normalizer: with"),
        (
            {"normalizer": normalizers.Sequence([normalizers.Replace("th", "z"), normalizers.BertNormalizer()])},
            "normalizer: with WordPiece",
        ),
        (
            {
                "normalizer": normalizers.Sequence(
                    [normalizers.Replace(Regex("[q]"), "k"), normalizers.BertNormalizer()]
                )
            },
            "Replace: with this stage, .* inside a word is treated differently",
        ),
        (
            {
                "pre_tokenizer": pre_tokenizers.Sequence(
                    [pre_tokenizers.BertPreTokenizer(), pre_tokenizers.Split(Regex("[q]"), "removed")]
                )
            },
            "pre_tokenizer: with WordPiece",
        ),
    ],
)
def test_stages_with_other_effects_are_named(convert, change, named):
    with pytest.raises(UnsupportedError, match=named):
        convert(wordpiece(), [(text, True) for text in SPECIAL], **FOLLOWING | change)


def test_another_continuation_prefix_is_named(convert):
    with pytest.raises(UnsupportedError, match=r"model\.continuing_subword_prefix"):
        convert(wordpiece(continuing_subword_prefix="@@"), **STAGES)


def test_an_invalid_vocabulary_is_broken(make, read):
    content = json.loads(make(wordpiece(), **STAGES).to_str())
    content["model"]["vocab"] = ["a"]
    with pytest.raises(BrokenFileError, match=r"model\.vocab: must map pieces to ids"):
        read(json.dumps(content))


def test_the_real_bge(shared):
    encoder = Encoder(read_spec(shared / "vocabs" / "bert-bge.tokenizer.json"))
    for line in (shared / "golden" / "bert-bge.jsonl").read_text().splitlines():
        row = json.loads(line)
        options = {"add_special": row["add_special"], "parse_special": row["parse_special"]}
        assert encoder.encode(row["text"], **options) == row["ids"], row
