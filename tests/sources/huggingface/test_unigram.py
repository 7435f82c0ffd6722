import json

import pytest
from tokenizers import Regex, models, normalizers, pre_tokenizers, processors

from support.sentencepiece_maker import train_model
from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.sources.sentencepiece.reader import read_spec as read_model

METASPACE = pre_tokenizers.Metaspace()
STRIP = normalizers.Strip(left=False, right=True)
REPLACE = normalizers.Replace(" ", "▁")
MERGE = normalizers.Replace(Regex(" {2,}"), "▁")
SPLIT_AND_METASPACE = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), METASPACE])
EOS = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 2)])
SPECIAL = [("<unk>", True), ("<s>", True), ("</s>", True)]


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("trained") / "tokenizer.model"
    path.write_bytes(train_model(model_type="unigram", vocab_size=60))
    return read_model(path)


def unigram(trained, more=(), **options):
    return models.Unigram([*zip(trained.tokens, trained.scores, strict=True), *more], 0, **options)


def after_charsmap(trained, *stages):
    return normalizers.Sequence([normalizers.Precompiled(trained.charsmap), *stages])


def test_older_files_are_supported(make, require_equal, trained):
    stages = {"normalizer": after_charsmap(trained), "pre_tokenizer": SPLIT_AND_METASPACE, "post_processor": EOS}
    tokenizer = make(unigram(trained), [*SPECIAL, ("<tool>", False)], **stages)
    # subtle: the library's model itself has a piece `</s>`, which it finds in a text even where none are to be parsed.
    spec = require_equal(tokenizer, but=[text for text, _ in SPECIAL])
    assert (spec.model, spec.charsmap) == ("t5", trained.charsmap)
    assert (spec.add_space_prefix, spec.remove_extra_whitespaces) == (True, True)
    assert (spec.add_bos, spec.add_eos, spec.special_ids) == (False, True, {"unk": 0, "eos": 2})
    assert list(spec.scores[: len(trained.tokens)]) == list(trained.scores)
    assert spec.types[:4] == [2, 3, 3, 1]


@pytest.mark.parametrize(
    ("normalizer", "pre_tokenizer", "expected"),
    [
        ([STRIP, MERGE], METASPACE, (True, True)),
        ([MERGE], SPLIT_AND_METASPACE, (True, True)),
        ([REPLACE], None, (False, False)),
        ([normalizers.Prepend("▁"), REPLACE], None, (True, False)),
        ([], pre_tokenizers.Metaspace(prepend_scheme="never"), (False, False)),
        ([], pre_tokenizers.Metaspace(prepend_scheme="first"), (True, False)),
    ],
)
def test_spaces_are_declared_in_many_ways(convert, trained, normalizer, pre_tokenizer, expected):
    stages = {"pre_tokenizer": pre_tokenizer} if pre_tokenizer else {}
    spec = convert(unigram(trained), SPECIAL, normalizer=after_charsmap(trained, *normalizer), **stages)
    assert (spec.add_space_prefix, spec.remove_extra_whitespaces) == expected
    assert spec.charsmap == trained.charsmap


def test_a_file_without_a_charsmap(convert, trained):
    assert convert(unigram(trained), SPECIAL, pre_tokenizer=METASPACE).charsmap is None


def test_nfc_before_everything_else_has_a_key(make, require_equal, convert, trained):
    normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Precompiled(trained.charsmap), STRIP, MERGE])
    tokenizer = make(unigram(trained, [("ś", -1.0)]), SPECIAL, normalizer=normalizer, pre_tokenizer=METASPACE)
    assert require_equal(tokenizer, but=[text for text, _ in SPECIAL]).nfc
    assert tokenizer.encode("s\u0301", add_special_tokens=False).tokens == ["▁", "ś"]
    assert convert(unigram(trained), SPECIAL, pre_tokenizer=METASPACE).nfc is None


def test_byte_pieces_have_the_type_byte(convert, trained):
    byte_pieces = [(f"<0x{byte:02X}>", 0.0) for byte in range(256)]
    model = unigram(trained, byte_pieces, byte_fallback=True)
    assert convert(model, SPECIAL, pre_tokenizer=METASPACE).types[len(trained.tokens) :] == [6] * 256


def test_added_tokens_beyond_the_model_have_a_score_too(convert, trained):
    spec = convert(unigram(trained), [*SPECIAL, ("<tool>", False)], pre_tokenizer=METASPACE)
    assert len(spec.scores) == len(spec.tokens) == len(trained.tokens) + 1
    assert (spec.tokens[-1], spec.types[-1]) == ("<tool>", 4)


@pytest.mark.parametrize(
    ("normalizer", "pre_tokenizer", "named"),
    [
        (normalizers.NFKC(), METASPACE, "normalizer NFKC"),
        (normalizers.Sequence([normalizers.Lowercase(), STRIP, MERGE]), METASPACE, "normalizer Lowercase"),
        (MERGE, METASPACE, "normalizer Replace: GGUF can declare merging and stripping spaces only together"),
        (STRIP, METASPACE, "normalizer Strip: GGUF can declare merging and stripping spaces only together"),
        (MERGE, pre_tokenizers.WhitespaceSplit(), "neither ByteLevel nor one that writes spaces"),
        (REPLACE, pre_tokenizers.Whitespace(), "pre_tokenizer Whitespace"),
    ],
)
def test_a_stage_that_gguf_cannot_express_is_named(convert, trained, normalizer, pre_tokenizer, named):
    with pytest.raises(UnsupportedError, match=named):
        convert(unigram(trained), SPECIAL, normalizer=normalizer, pre_tokenizer=pre_tokenizer)


def test_a_charsmap_after_other_stages_is_named(convert, trained):
    normalizer = normalizers.Sequence([MERGE, normalizers.Precompiled(trained.charsmap), STRIP])
    with pytest.raises(UnsupportedError, match="normalizer Precompiled"):
        convert(unigram(trained), normalizer=normalizer, pre_tokenizer=METASPACE)


def test_pieces_across_a_space_are_refused_if_metaspace_splits(convert, trained):
    with pytest.raises(UnsupportedError, match="Metaspace split"):
        convert(unigram(trained, [("a▁b", -1.0)]), pre_tokenizer=METASPACE)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"vocab": {"a": 0}}, "model.vocab: must be a list"),
        ({"vocab": [["a"]]}, "entry 0 must be a unique piece and its score"),
        ({"vocab": [["a", 0.0], ["a", 1.0]]}, "entry 1 must be a unique piece and its score"),
        ({"vocab": [["a", float("nan")]]}, "entry 0 must be"),
        ({"vocab": [["a", 10**400]]}, "entry 0 must be"),
        ({"vocab": [["a", "b"]]}, "entry 0 must be"),
        ({"vocab": [7]}, "entry 0 must be"),
        ({"vocab": [["a", 0.0]], "unk_id": 1}, "model.unk_id: must be the id of one of 1 pieces"),
        ({"unk_id": "0"}, "model.unk_id: must be"),
    ],
)
def test_an_invalid_model_gives_one_clear_line(make, read, trained, change, problem):
    content = json.loads(make(unigram(trained), pre_tokenizer=METASPACE).to_str())
    content["model"] |= change
    with pytest.raises(BrokenFileError, match=problem):
        read(json.dumps(content))
