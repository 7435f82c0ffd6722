"""Each kind of loss is listed and explains every difference, on the smallest tokenizer that has it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

from support.sentencepiece_maker import BYTE, CONTROL, NORMAL, UNIGRAM, UNKNOWN, USER_DEFINED, make_model, train_model
from support.spec_maker import unigram_spec
from tokverify import load_gguf
from tokverify.compare.convert.sentencepiece_loss import score_losses
from tokverify.compare.convert.source import open_source
from tokverify.errors import UnsupportedError

NFD_LOWERCASE = {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "Lowercase"}]}
END = {"<|endoftext|>": {"id": "<|endoftext|>", "ids": [0], "tokens": ["<|endoftext|>"]}}


def template(*single: str) -> dict:
    items = [
        {"Sequence": {"id": "A", "type_id": 0}} if item == "$A" else {"SpecialToken": {"id": item, "type_id": 0}}
        for item in single
    ]
    return {"type": "TemplateProcessing", "single": items, "pair": [], "special_tokens": END}


def require_explained(done, part: str) -> None:
    """Require that texts differ, all of them explained, and some of them by this part alone."""
    explained = dict(zip(done.untransportable, done.explained, strict=True))
    assert done.differing
    assert done.unexplained == 0
    found = [count for sentence, count in explained.items() if part in sentence]
    assert len(found) == 1, explained
    assert found[0]


@pytest.mark.parametrize(
    ("parts", "texts", "part"),
    [
        (([], {"normalizer": {"type": "NFC"}}), ["e\u0301"], "normalizer NFC: GGUF cannot express it"),
        (([], {"normalizer": NFD_LOWERCASE}), ["É"], "normalizer NFD, Lowercase: "),
        (([AddedToken("<|a|>", special=True, lstrip=True, normalized=False)], {}), ["x  <|a|>"], "lstrip of `<|a|>`"),
        (([AddedToken("<|a|>", special=True, rstrip=True, normalized=False)], {}), ["<|a|>  x"], "rstrip of `<|a|>`"),
        (([AddedToken("fo", single_word=True, normalized=False)], {}), ["fox"], "single_word of `fo`"),
        (([AddedToken("<eos>", normalized=False)], {}), [], "llama.cpp treats `<eos>` as control tokens"),
    ],
)
def test_losses_of_a_tokenizer_json(byte_level, to_gguf, parts, texts, part):
    added, changes = parts
    require_explained(to_gguf(byte_level(*added, **changes), *texts), part)


def test_a_template_with_more_tokens_than_gguf_can_express(byte_level, to_gguf):
    done = to_gguf(byte_level(post_processor=template("<|endoftext|>", "<|endoftext|>", "$A", "<|endoftext|>")))
    require_explained(done, "post_processor: 2 tokens before a text")
    assert (
        "post_processor: the template for pairs of texts; llama.cpp encodes one text at a time" in done.untransportable
    )


def test_losses_that_change_no_ids_are_listed(byte_level, to_gguf):
    truncation = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
    done = to_gguf(byte_level(truncation=truncation), "the red fox")
    assert done.written
    assert done.untransportable == ("truncation: llama.cpp does not truncate texts",)
    assert done.explained == (0,)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        (
            {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}},
            "add_prefix_space: .* use --unexplained",
        ),
        ({"post_processor": template("$A", "$A")}, "contains the text 2 times"),
    ],
)
def test_losses_that_would_change_every_text_are_refused(byte_level, to_gguf, changes, named):
    with pytest.raises(UnsupportedError, match=named):
        to_gguf(byte_level(**changes))


def test_the_bytes_of_a_unigram_model(to_gguf, tmp_path):
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", *"abcdefghij", "▁a", "bc"]
    tokenizer = Tokenizer(models.Unigram([(piece, -0.1 * id) for id, piece in enumerate(pieces)], 0, True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.add_special_tokens(pieces[:3])
    tokenizer.save(str(tmp_path / "in.tokenizer.json"))
    done = to_gguf(tmp_path / "in.tokenizer.json", "a 123 x", "<0x0A> é")
    require_explained(done, "model.byte_fallback: with unigram, llama.cpp treats what no piece covers as unknown")
    assert done.written


def wordpiece(path: Path) -> Path:
    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abeo", *(f"##{letter}" for letter in "abeo"), "日"]
    tokenizer = Tokenizer(models.WordPiece({text: id for id, text in enumerate(vocab)}, unk_token=vocab[1]))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.add_special_tokens(vocab[:4])
    tokenizer.save(str(path))
    return path


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a\x0bb", "BertNormalizer and BertPreTokenizer: "),
        ("a" * 101, "words of more than 100 characters"),
        ("a▁b", "a `▁` in a text"),
    ],
)
def test_losses_of_wordpiece(to_gguf, tmp_path, text, part):
    require_explained(to_gguf(wordpiece(tmp_path / "in.json"), text, count=0), part)


def test_a_normalizer_that_bpe_ignores(to_gguf, tmp_path):
    path = tmp_path / "in.model"
    path.write_bytes(train_model(vocab_size=330, model_type="bpe", byte_fallback=True, remove_extra_whitespaces=True))
    require_explained(to_gguf(path, "fox  fox", count=0), "normalizer_spec: ")


def test_byte_fallback_that_unigram_ignores(to_gguf, tmp_path):
    path = tmp_path / "in.model"
    bytes_ = [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]
    pieces = [("<unk>", 0.0, UNKNOWN), ("</s>", 0.0, CONTROL), ("▁", -1.0, NORMAL), ("a", -2.0, NORMAL), *bytes_]
    path.write_bytes(make_model(pieces, {3: UNIGRAM, 35: 1}))
    require_explained(to_gguf(path, "aé", count=0), "trainer_spec.byte_fallback")


BYTES = [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]


def test_limits_explain_where_sentencepiece_refuses_the_model_without_a_loss(to_gguf, tmp_path):
    path = tmp_path / "in.model"
    pieces = [("<unk>", 0.0, UNKNOWN), ("</s>", 0.0, CONTROL), *BYTES, ("fo", 0.0, USER_DEFINED)]
    path.write_bytes(make_model(pieces, {3: UNIGRAM, 35: 1}))
    done = to_gguf(path, "aé fo", count=0)
    assert (done.differing, done.unexplained) == (1, 0)
    assert [limit.code for limit in done.report.limits] == ["TL009", "TL013"]


def test_a_limit_also_explains_where_a_loss_cannot_be_undone(to_gguf, tmp_path):
    # sentencepiece accepts U+0000 only with byte_fallback, so it cannot be asked for ids without that.
    path = tmp_path / "in.model"
    pieces = [("<unk>", 0.0, UNKNOWN), ("</s>", 0.0, CONTROL), *BYTES, ("a", -1.0, NORMAL), ("\0", -2.0, NORMAL)]
    path.write_bytes(make_model(pieces, {3: UNIGRAM, 35: 1}))
    done = to_gguf(path, "aé fo", count=0)
    assert (done.differing, done.unexplained) == (1, 0)
    assert [limit.code for limit in done.report.limits] == ["TL009"]


def test_a_token_that_is_control_because_of_its_text(to_gguf, tmp_path):
    path = tmp_path / "in.model"
    pieces = [("<unk>", 0.0, UNKNOWN), ("</s>", 0.0, CONTROL), *((text, -1.0, NORMAL) for text in "▁<eos>")]
    pieces += [("<eos>", 0.0, USER_DEFINED), ("<eot>", 0.0, USER_DEFINED)]
    path.write_bytes(make_model(list(dict.fromkeys(pieces)), {3: UNIGRAM}))
    done = to_gguf(path, "<eos>", count=0)
    assert any("`<eos>`: llama.cpp treats it as a control token" in part for part in done.untransportable)
    assert done.unexplained == 0


def test_score_sums_that_round_alike_are_a_tie():
    spec = unigram_spec({"a": -0.1, "b": -0.2, "ab": -0.3, "c": -0.4})
    (loss,) = score_losses(spec)
    a, b, ab, c, unknown = 3, 4, 5, 6, 2
    assert loss.excuse([a, b], [ab])
    assert not loss.excuse([a, c], [ab]), "other pieces"
    assert not loss.excuse([c, ab], [c, a, c]), "other pieces"
    assert not loss.excuse([unknown], [a])
    other = replace(spec, scores=[0, 0, 0, -0.1, -0.2, -0.31, -0.4])
    assert not next(score_losses(other)).excuse([a, b], [ab]), "another sum"
    assert list(score_losses(replace(spec, model="llama"))) == []


def test_the_file_itself_is_not_changed(byte_level, to_gguf):
    path = byte_level(AddedToken("<eos>", normalized=False), normalizer={"type": "NFC"})
    before = json.loads(path.read_text())
    to_gguf(path, "<eos>e\u0301")
    assert json.loads(path.read_text()) == before


def test_losses_are_undone_in_the_source_and_our_encoder_is_reused(byte_level, to_gguf, tmp_path):
    source = open_source(byte_level(AddedToken("<eos>", normalized=False), normalizer={"type": "NFC"}))
    to_gguf(source.path, unexplained=True)
    made = load_gguf(tmp_path / "out.gguf")
    actual, expected = source.without(made, source.losses)
    assert actual is made
    assert [loss.undo is not None for loss in source.losses] == [True, True]
    assert expected.encode("e\u0301", add_special=False, parse_special=True) == made.encode("e\u0301")
    assert source.found.tokenizer.encode("e\u0301", add_special=False, parse_special=True) != made.encode("e\u0301")
