"""What GGUF cannot express is listed, and limits explain every difference, on the smallest tokenizer for each."""

import json
from pathlib import Path

import pytest
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

from support.charsmap_maker import make_charsmap
from support.sentencepiece_maker import BYTE, CONTROL, NORMAL, UNIGRAM, UNKNOWN, USER_DEFINED, make_model, train_model
from support.spec_file import write_spec
from support.spec_maker import BYTE_PIECES, bpe_spec
from tokverify.case import Case
from tokverify.compare.convert import convert
from tokverify.errors import UnsupportedError

NFD_LOWERCASE = {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "Lowercase"}]}
END = {"<|endoftext|>": {"id": "<|endoftext|>", "ids": [0], "tokens": ["<|endoftext|>"]}}


def template(*single: str) -> dict:
    items = [
        {"Sequence": {"id": "A", "type_id": 0}} if item == "$A" else {"SpecialToken": {"id": item, "type_id": 0}}
        for item in single
    ]
    return {"type": "TemplateProcessing", "single": items, "pair": [], "special_tokens": END}


def require_explained(done, code: str, lost: str = "") -> None:
    """Require that texts differ, all of them explained, by this limit alone; and that `lost` is listed."""
    assert done.differing
    assert done.unexplained == 0
    assert [limit.code for limit in done.report.limits] == [code]
    assert any(lost in part for part in done.untransportable) or not lost


A = {"special": True, "normalized": False}


@pytest.mark.parametrize(
    ("added", "text", "code"),
    [
        (AddedToken("<|a|>", **A, lstrip=True), "x  <|a|>", "TL007"),
        (AddedToken("<|a|>", **A, rstrip=True), "<|a|>  x", "TL007"),
        (AddedToken("fo", single_word=True, normalized=False), "fox", "TL007"),
        (AddedToken("<eos>", normalized=False), "<eos>", "TL001"),
    ],
)
def test_added_tokens(byte_level, to_gguf, added, text, code):
    require_explained(to_gguf(byte_level(added), text), code)


@pytest.mark.parametrize(
    ("normalizer", "text", "lost"),
    [({"type": "NFC"}, "e\u0301", "normalizer NFC: "), (NFD_LOWERCASE, "É", "normalizer NFD, Lowercase: ")],
)
def test_normalizers(byte_level, to_gguf, normalizer, text, lost):
    require_explained(to_gguf(byte_level(normalizer=normalizer), text), "TL003", f"{lost}GGUF cannot express it")


def test_a_template_with_more_tokens_than_gguf_can_express(byte_level, to_gguf):
    done = to_gguf(byte_level(post_processor=template("<|endoftext|>", "<|endoftext|>", "$A", "<|endoftext|>")))
    require_explained(done, "TL018", "post_processor: 2 tokens before a text")
    assert (
        "post_processor: the template for pairs of texts; llama.cpp encodes one text at a time" in done.untransportable
    )


def test_what_changes_no_ids_is_listed(byte_level, to_gguf):
    truncation = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
    done = to_gguf(byte_level(truncation=truncation), "the red fox")
    assert done.written
    assert done.untransportable == ("truncation: llama.cpp does not truncate texts",)


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
def test_what_would_change_every_text_is_refused(byte_level, to_gguf, changes, named):
    with pytest.raises(UnsupportedError, match=named):
        to_gguf(byte_level(**changes))


def test_the_bytes_of_a_unigram_model(to_gguf, tmp_path):
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", *"abcdefghij", "▁a", "bc"]
    tokenizer = Tokenizer(models.Unigram([(piece, -0.1 * id) for id, piece in enumerate(pieces)], 0, True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.add_special_tokens(pieces[:3])
    tokenizer.save(str(tmp_path / "in.tokenizer.json"))
    done = to_gguf(tmp_path / "in.tokenizer.json", "a 123 x", "<0x0A> é")
    assert (done.written, done.unexplained) == (True, 0)
    assert {"TL009", "TL016"} <= {limit.code for limit in done.report.limits}


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
    ("text", "code"),
    [
        ("a\x0bb", "TL010"),
        ("a" * 101, "TL011"),
        ("a▁b", "TL005"),
    ],
)
def test_wordpiece(to_gguf, tmp_path, text, code):
    require_explained(to_gguf(wordpiece(tmp_path / "in.json"), text, count=0), code)


def test_a_normalizer_that_bpe_ignores(to_gguf, tmp_path):
    path = tmp_path / "in.model"
    path.write_bytes(train_model(vocab_size=330, model_type="bpe", byte_fallback=True, remove_extra_whitespaces=True))
    require_explained(to_gguf(path, "fox  fox", count=0), "TL003")


def test_byte_fallback_that_unigram_ignores(to_gguf, tmp_path):
    path = tmp_path / "in.model"
    bytes_ = [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]
    pieces = [("<unk>", 0.0, UNKNOWN), ("</s>", 0.0, CONTROL), ("▁", -1.0, NORMAL), ("a", -2.0, NORMAL), *bytes_]
    path.write_bytes(make_model(pieces, {3: UNIGRAM, 35: 1}))
    require_explained(to_gguf(path, "aé", count=0), "TL009")


BYTES = [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]


def test_two_limits_explain_a_text_together(to_gguf, tmp_path):
    path = tmp_path / "in.model"
    pieces = [("<unk>", 0.0, UNKNOWN), ("</s>", 0.0, CONTROL), *BYTES, ("½", 0.0, USER_DEFINED)]
    path.write_bytes(make_model(pieces, {3: UNIGRAM, 35: 1}, {2: make_charsmap({"½": "h"})}))
    done = to_gguf(path, "aé ½", count=0)
    assert (done.differing, done.unexplained) == (1, 0)
    assert [limit.code for limit in done.report.limits] == ["TL009", "TL013"]


def test_a_piece_of_nul_does_not_prevent_an_explanation(to_gguf, tmp_path):
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
    done = to_gguf(path, "<eos>", "<eot>", count=0)
    assert (done.differing, done.unexplained) == (1, 0)
    assert [limit.code for limit in done.report.limits] == ["TL001"]


def test_the_file_itself_is_not_changed(byte_level, to_gguf):
    path = byte_level(AddedToken("<eos>", normalized=False), normalizer={"type": "NFC"})
    before = json.loads(path.read_text())
    to_gguf(path, "<eos>e\u0301")
    assert json.loads(path.read_text()) == before


SPACES = ["a", "<s>a", "a<s>ab", " a", "<s> a", "  a", "a b", " <s>", "", " ", "<s> ", "\n a"]
PIECES = ["<unk>", "<s>", "</s>", *BYTE_PIECES, "▁", "a", "b", "▁a", "ab", "▁▁", "▁ab"]
MERGES = [("▁", "a"), ("a", "b"), ("▁a", "b"), ("▁", "ab"), ("▁", "▁")]


def bpe():
    ids = {piece: id for id, piece in enumerate(PIECES)}
    return Tokenizer(models.BPE(ids, MERGES, unk_token=PIECES[0], byte_fallback=True, fuse_unk=True))


def unigram(*without):
    pieces = [piece for piece in PIECES if piece not in {*BYTE_PIECES, *without}]
    return Tokenizer(models.Unigram([(piece, -1.0 - 0.37 * id) for id, piece in enumerate(pieces)], 0, False))


@pytest.fixture
def from_metaspace(to_gguf, tmp_path):
    """Convert a tokenizer with this pre-tokenizer, verified with texts that begin with spaces and with markers."""

    def run(tokenizer, pre_tokenizer, **options):
        tokenizer.pre_tokenizer = pre_tokenizer
        tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
        (tmp_path / "in.tokenizer.json").write_text(tokenizer.to_str())
        return to_gguf(tmp_path / "in.tokenizer.json", *SPACES, **options)

    return run


@pytest.mark.parametrize("make", [bpe, unigram])
@pytest.mark.parametrize("scheme", ["first", "always"])
def test_spaces_that_metaspace_does_not_add(from_metaspace, make, scheme):
    done = from_metaspace(make(), pre_tokenizers.Metaspace(prepend_scheme=scheme, split=False))
    assert (done.written, done.unexplained) == (True, 0)
    assert "TL016" in [limit.code for limit in done.report.limits]


@pytest.mark.parametrize("make", [bpe, unigram])
def test_without_added_spaces_no_limit_is_needed_for_them(from_metaspace, make):
    done = from_metaspace(make(), pre_tokenizers.Metaspace(prepend_scheme="never", split=False))
    assert done.unexplained == 0
    assert "TL016" not in [limit.code for limit in done.report.limits]


def test_where_spaces_are_merged_the_scheme_always_is_expressible(from_metaspace):
    split = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
    done = from_metaspace(unigram("▁▁"), pre_tokenizers.Sequence(split), count=0)
    assert "TL016" not in [limit.code for limit in done.report.limits]


def test_a_space_before_the_first_word_only_is_rejected(from_metaspace):
    split = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="first")]
    with pytest.raises(UnsupportedError, match="only the first word begins with a space"):
        from_metaspace(unigram("▁▁"), pre_tokenizers.Sequence(split))


def test_limits_explain_what_differs_in_a_tokenizer_json_made_of_a_gguf_file(tmp_path):
    source, target = tmp_path / "in.gguf", tmp_path / "tokenizer.json"
    # Llama 3's pattern keeps a space together with what is no digit; the Garay digits are from Unicode 16.
    write_spec(bpe_spec(["Ġ ð"], pre="llama-bpe"), source)
    done = convert(source, target, cases=[Case(id="garay", suite="made", text="a \U00010d40")], count=0)
    assert (done.written, done.differing, done.unexplained) == (True, 1, 0)
    assert [limit.code for limit in done.report.limits] == ["TL004"]


@pytest.mark.parametrize("pre", ["tekken", "gpt-4o", "kimi-k2"])
def test_patterns_that_take_characters_from_a_class_are_written_as_the_library_reads_them(tmp_path, pre):
    source, target = tmp_path / "in.gguf", tmp_path / "tokenizer.json"
    write_spec(bpe_spec(["a B", "B c", "c d", "å ħ"], pre=pre), source)
    cases = [
        Case(id=str(number), suite="made", text=text) for number, text in enumerate(("aBcd", "cdaB ABcdaBc", "漢a"))
    ]
    done = convert(source, target, cases=cases, count=200)
    assert (done.written, done.differing) == (True, 0)
