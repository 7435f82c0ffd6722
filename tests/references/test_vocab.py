"""References whose vocabulary is a file of its own."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tokenizers import CharBPETokenizer, SentencePieceBPETokenizer
from tokenizers.pre_tokenizers import ByteLevel

from support.byte_level_maker import train_byte_level
from tokverify import convert_tokenizer, load_model, verify_model
from tokverify.case import Case
from tokverify.cases.loading import load_cases
from tokverify.commands.tasks.fix import fix_model
from tokverify.engine.byte_level import byte_pieces
from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.references import open_reference
from tokverify.references.file import load_file
from tokverify.sources.gguf.writer import write_gguf
from tokverify.sources.location import VOCABULARIES
from tokverify.sources.tokenizer_file import read_spec
from tokverify.spec import TokenizerSpec, TokenType

TEXTS = ("Hello  world", "it's 123", " leading", "\N{LLAMA}\n")


@pytest.fixture
def bpe(tmp_path: Path) -> Path:
    tokenizer = train_byte_level(ByteLevel(add_prefix_space=False), "<|end|>")
    tokenizer.save(str(tmp_path / "whole.json"))
    model = json.loads((tmp_path / "whole.json").read_text())["model"]
    folder = tmp_path / "bpe"
    folder.mkdir()
    (folder / "vocab.json").write_text(json.dumps(model["vocab"]))
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *map(" ".join, model["merges"])]) + "\n")
    (folder / "special_tokens_map.json").write_text('{"eos_token": {"content": "<|end|>"}, "pad_token": "[absent]"}')
    return folder


def encode(tokenizer, text, *, add_special=False):
    return tokenizer.encode(text, add_special=add_special, parse_special=True)


@pytest.mark.parametrize("name", ["", "vocab.json"])
def test_vocab_json_and_merges_are_byte_level_bpe(bpe, name):
    found = open_reference(bpe / name)
    whole = open_reference(bpe.parent / "whole.json").tokenizer
    assert [encode(found.tokenizer, text) for text in TEXTS] == [encode(whole, text) for text in TEXTS]
    assert encode(found.tokenizer, "a<|end|>")[-1] == 0
    assert found.tokenizer.special_ids == {"eos": 0}
    assert found.tokenizer.vocab_size == whole.vocab_size
    assert "GPT-2's byte-level BPE was assumed" in found.caveat
    assert found.path == bpe / "vocab.json"


def test_without_a_configuration_no_token_is_known_to_be_special(bpe):
    assert "special" not in open_reference(bpe / "vocab.json").caveat
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        (bpe / name).unlink(missing_ok=True)
    found = open_reference(bpe / "vocab.json")
    assert found.caveat.endswith("says which tokens are special")
    assert encode(found.tokenizer, "a<|end|>")[-1] != 0


def test_a_token_without_a_text_is_not_added_around_texts(bpe):
    vocabulary = json.loads((bpe / "vocab.json").read_text())
    (bpe / "vocab.json").write_text(json.dumps({**vocabulary, "": len(vocabulary)}))
    tokenizer = open_reference(bpe / "vocab.json").tokenizer
    assert encode(tokenizer, "a", add_special=True) == encode(tokenizer, "a")
    assert tokenizer.special_ids == {"eos": 0}


def test_the_configuration_can_ask_for_a_space_before_a_text(bpe):
    (bpe / "tokenizer_config.json").write_text('{"add_prefix_space": true}')
    tokenizer = open_reference(bpe / "vocab.json").tokenizer
    assert encode(tokenizer, "a") == encode(tokenizer, " a")


@pytest.mark.parametrize(
    ("config", "lowercase"),
    [(None, False), ({"tokenizer_class": "BertTokenizer"}, True), ({"do_lower_case": False}, False)],
)
def test_vocab_txt_is_wordpiece(tmp_path, config, lowercase):
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nfox\n##es\nFox\nA\nB\nC\nD\nE\nF\nG\n")
    if config:
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    found = open_reference(tmp_path / "vocab.txt")
    assert encode(found.tokenizer, "Foxes ?") == [4 if lowercase else 6, 5, 1]
    assert encode(found.tokenizer, "fox", add_special=True) == [2, 4, 3]
    assert encode(found.tokenizer, "[SEP]") == [3]
    assert ("BERT's WordPiece was assumed" in found.caveat) is ("tokenizer_class" not in (config or {}))


def test_without_a_class_a_vocab_txt_without_capitals_is_lowercase(tmp_path):
    (tmp_path / "vocab.txt").write_text("[PAD]\r[UNK]\r[CLS]\r[SEP]\r<S>\rfox\rⅣ\rℝ\r")
    assert encode(open_reference(tmp_path / "vocab.txt").tokenizer, "Fox") == [5]


BYTES = byte_pieces()


def take(path, **model):
    """Load a vocabulary that is compared with a model."""
    tokens = model.pop("tokens", None) or [*BYTES, "12", "<|end|>", "<tool>"]
    normal = dict.fromkeys(range(len(tokens)), TokenType.NORMAL)
    types = [*(normal | model.pop("types", {})).values()]
    spec = TokenizerSpec(model=model.pop("model", "gpt2"), tokens=tokens, types=types, merges=["1 2"], **model)
    return load_file("vocab", path, spec)


ADDED = {257: TokenType.CONTROL, 258: TokenType.USER_DEFINED}


@pytest.mark.parametrize("count", [258, 257])
def test_what_a_vocabulary_leaves_open_is_not_compared(tmp_path, count):
    path = write_bpe(tmp_path, [*BYTES, "12", "<|end|>", "<tool>"][:count], ["1 2"])
    found = take(path, pre="smollm", types=ADDED)
    assert found.tokenizer.token_types()[256:] == [TokenType.UNDEFINED, TokenType.CONTROL, TokenType.USER_DEFINED]
    assert encode(found.tokenizer, "12<|end|><tool>") == [BYTES.index("1"), BYTES.index("2"), 257, 258]
    assert not found.tokenizer.adds_special
    assert found.tokenizer.left_open == "how texts are split and which other tokens are added"


def test_a_model_that_llama_cpp_refuses_says_nothing(tmp_path):
    path = write_bpe(tmp_path, [*BYTES, "12"], ["1 2"])
    assert "GPT-2's byte-level BPE was assumed" in take(path, pre="no such name").caveat


def test_what_a_class_adds_around_a_text_is_not_repaired_beside_a_vocabulary_that_names_none(tmp_path):
    tokens = [*BYTES, "12", "<s>"]
    path = write_bpe(tmp_path, tokens, ["1 2"])
    types = [TokenType.NORMAL] * 257 + [TokenType.CONTROL]
    spec = TokenizerSpec(model="gpt2", pre="gpt-2", tokens=tokens, types=types, merges=["1 2"])
    write_gguf(tmp_path / "model.gguf", replace(spec, special_ids={"bos": 257, "eos": 257}, add_bos=True))
    cases = [Case(id="number", suite="made", text="12", add_special=True)]
    assert fix_model(tmp_path / "model.gguf", None, path, cases).repair is None


def test_what_files_beside_a_vocabulary_say_is_not_taken_from_the_model(tmp_path):
    path = write_bpe(tmp_path, [*BYTES, "12", "<|end|>", "<tool>"], ["1 2"])
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "GPT2Tokenizer", "eos_token": "<|end|>"}')
    found = take(path, pre="smollm", types=ADDED)
    assert encode(found.tokenizer, "12<|end|><tool>")[:2] == [256, 257]
    assert found.tokenizer.token_types()[258] is TokenType.UNDEFINED
    assert found.tokenizer.left_open == ""


def test_a_token_that_a_vocabulary_makes_itself_is_ordinary_whatever_the_model_says(tmp_path):
    path = write_bpe(tmp_path, [*BYTES, "12", "<|end|>", "<tool>"], ["1 2"])
    types = take(path, pre="gpt-2", types={65: TokenType.CONTROL, 256: TokenType.CONTROL}).tokenizer.token_types()
    assert {types[65], types[256]} == {TokenType.UNDEFINED}


def test_a_pre_tokenizer_that_splits_pieces_of_the_vocabulary_is_not_taken(tmp_path):
    numbers = [str(number) for number in range(1000, 1010)]
    path = write_bpe(tmp_path, [*BYTES, *numbers])
    assert "GPT-2's byte-level BPE was assumed" in take(path, pre="llama-bpe").caveat
    assert "GPT-2's byte-level BPE was assumed" not in take(path, pre="gpt-2").caveat
    assert "GPT-2's byte-level BPE was assumed" in take(path).caveat


def test_the_way_in_which_llama_3_ignores_merges_goes_with_its_pattern(tmp_path):
    path = write_bpe(tmp_path, [*BYTES, "12", "34", "123"], ["1 2"])
    assert encode(take(path, pre="llama-bpe").tokenizer, "123") == [258]
    assert encode(take(path, pre="gpt-2").tokenizer, "123") == [256, BYTES.index("3")]


def test_of_the_files_that_list_added_tokens_only_their_types_are_those_of_the_model(tmp_path):
    path = write_bpe(tmp_path, [*BYTES, "12"], ["1 2"])
    (tmp_path / "added_tokens.json").write_text('{"<|end|>": 257, "<tool>": 258}')
    types = take(path, pre="gpt-2", types=ADDED).tokenizer.token_types()
    assert types[257:] == [TokenType.CONTROL, TokenType.USER_DEFINED]


@pytest.mark.parametrize(("pieces", "is_taken"), [(("fox",), True), (("fox", "Fox", *"ABCDEFG"), False)])
def test_the_case_of_a_vocab_txt_without_capitals_is_that_of_the_model(tmp_path, pieces, is_taken):
    pieces = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[NAME]", *pieces)
    (tmp_path / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces))
    tokens = [piece if piece.startswith("[") else f"▁{piece}" for piece in pieces]
    types = {4: TokenType.CONTROL, 5: TokenType.CONTROL}
    found = take(tmp_path / "vocab.txt", model="bert", tokens=tokens, types=types, lowercase=False)
    assert encode(found.tokenizer, "FOX[NAME]") == [1, 4]
    assert ("whether texts are lowercased" in found.tokenizer.left_open) is is_taken
    assert found.tokenizer.token_types()[5] is TokenType.UNDEFINED


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_a_vocab_txt_is_split_at_line_ends_only_and_may_begin_with_a_byte_order_mark(tmp_path, line_end):
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "\u2028", "a", "##\x85", ""]
    path = tmp_path / "vocab.txt"
    path.write_bytes(line_end.join(pieces).encode("utf-8-sig"))
    reference = open_reference(path).tokenizer
    assert [reference.piece(id) for id in range(reference.vocab_size)][:7] == pieces[:7]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("vocab.json", b"[1]", "vocab.json: not a JSON object"),
        ("vocab.json", b"{", "vocab.json: cannot be read as JSON"),
        ("vocab.json", b'{"a": "b"}', "vocab.json: not a vocabulary that tokenizers can read"),
        ("vocab.txt", b"a\xff", "vocab.txt: not UTF-8 from byte 1 on"),
        ("vocab.txt", b"", "vocab.txt: "),
        ("vocab.txt", b"the\t9\nof\t5\n[UNK]\n", "not a vocabulary of BERT.*: 2 of 3 lines have a tab"),
    ],
)
def test_files_that_are_no_vocabulary_give_one_line(tmp_path, name, content, message):
    (tmp_path / "merges.txt").write_text("")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BrokenFileError, match=message) as caught:
        open_reference(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_merges_of_another_model_are_refused_by_this_reason(tmp_path):
    (tmp_path / "vocab.json").write_text(json.dumps({"a": 0, "b": 1, "ab": 2}))
    (tmp_path / "merges.txt").write_text("#version: 0.2\na b\nab c\n")
    with pytest.raises(
        BrokenFileError, match='has 1 merge of tokens that it lacks, such as "ab c", as if the two files'
    ):
        open_reference(tmp_path / "vocab.json")


def test_a_vocab_json_without_merges_is_refused_by_this_reason(tmp_path):
    (tmp_path / "vocab.json").write_text('{"a": 0}')
    for read in (open_reference, read_spec):
        with pytest.raises(BrokenFileError, match=r"vocab\.json: BPE needs a merges\.txt beside it, .* or for BERT"):
            read(tmp_path / "vocab.json")


def write_bpe(folder: Path, pieces: Sequence[str], merges: Sequence[str] = ()) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps({piece: id for id, piece in enumerate(pieces)}))
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges]) + "\n")
    return folder / "vocab.json"


CHARACTER_LEVEL = {
    "2 pieces end in `</w>` and 0 begin with `Ġ`": (["<unk>", "h", "i", "i</w>", "hi</w>"], ["h i</w>"]),
    "2 pieces begin with `▁` and 0 begin with `Ġ`": (["<unk>", "h", "i", "▁h", "▁hi", "▁"], ["▁ h", "▁h i"]),
    "2 of 4 single characters stand for no byte": (["a", "b", "안", "녕", "안녕"], ["안 녕"]),
}


@pytest.mark.parametrize("sign", CHARACTER_LEVEL)
def test_pieces_of_characters_are_not_read_as_byte_level_bpe(tmp_path, sign):
    path = write_bpe(tmp_path, *CHARACTER_LEVEL[sign])
    for read in (open_reference, read_spec):
        with pytest.raises(
            UnsupportedError, match=f"{re.escape(sign)}, so this is not GPT-2's byte-level BPE.*tokenizer.json"
        ):
            read(path)


@pytest.mark.parametrize("library", [CharBPETokenizer, SentencePieceBPETokenizer])
def test_what_the_classes_of_character_level_bpe_save_is_refused(tmp_path, library):
    tokenizer = library()
    tokenizer.train_from_iterator(["Hello there, hello world!", "It is the end of the world."] * 9, show_progress=False)
    tokenizer.save_model(str(tmp_path))
    with pytest.raises(UnsupportedError, match="not GPT-2's byte-level BPE"):
        open_reference(tmp_path)


def test_bytes_with_ends_of_words_are_clips_and_not_gpt_2s(tmp_path):
    path = write_bpe(tmp_path, [*byte_pieces(), "a</w>", "cat</w>", "dog</w>", "Ġx"])
    with pytest.raises(UnsupportedError, match="3 pieces end in `</w>` and 2 begin with `Ġ`"):
        open_reference(path)


def test_added_tokens_do_not_make_a_vocabulary_one_of_characters(tmp_path):
    tokens = ["<｜end▁of▁sentence｜>", "▁", "</w>", "中"]
    assert open_reference(write_bpe(tmp_path / "all", [*byte_pieces(), *tokens]))
    path = write_bpe(tmp_path / "some", ["a", "b", "Ġ", "▁a", "中"])
    (path.parent / "added_tokens.json").write_text('{"▁a": 3, "中": 4}')
    assert open_reference(path)


def test_a_class_says_how_texts_are_split_whatever_the_pieces_are(tmp_path):
    path = write_bpe(tmp_path, ["a", "안", "녕"])
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "GPT2Tokenizer"}')
    assert encode(open_reference(path).tokenizer, "a안") == [0]


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "fox", "##es", "é", "e", "中", "?"]
    (tmp_path / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    return tmp_path


def test_a_directory_of_vocabulary_files_is_a_model_that_agrees_with_them(bert, bpe):
    for folder in (bert, bpe):
        report = verify_model(folder, cases=load_cases()[:60])
        assert report.ok, report.differences
        assert report.expected.source == str(next(folder / name for name in VOCABULARIES if (folder / name).is_file()))


@pytest.mark.parametrize("folder", ["bert", "bpe"])
def test_vocabulary_files_are_converted_with_a_warning_about_what_is_assumed(request, tmp_path, folder):
    source = request.getfixturevalue(folder)
    done = convert_tokenizer(source, tmp_path / "out.gguf", cases=[], count=300)
    assert (done.written, done.unexplained) == (True, 0)
    assert "was assumed" in done.warnings[0]


def test_a_class_that_says_nothing_is_none(bert):
    (bert / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    assert "BERT's WordPiece was assumed" in open_reference(bert).caveat


def test_options_of_bert_are_read(bert):
    def ids(**config: object) -> list[int]:
        (bert / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer", **config}))
        found = open_reference(bert)
        assert found.caveat == ""
        return encode(found.tokenizer, "É 中fox")

    assert ids() == [8, 9, 5]
    assert ids(strip_accents=False) == [7, 9, 5]
    assert ids(strip_accents=False, tokenize_chinese_chars=False) == [7, 1]


def test_added_tokens_have_their_ids_and_flags(bert):
    entries = {"11": {"content": "<a>", "lstrip": True, "special": True}, "12": {"content": "<b>"}}
    (bert / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": entries}))
    assert encode(open_reference(bert).tokenizer, "fox <a>fox<b>") == [5, 11, 5, 12]
    assert encode(load_model(bert / "vocab.txt"), "fox<b>") == [5, 12]
    # Which is not read beside the configuration, and may repeat tokens of the vocabulary.
    (bert / "added_tokens.json").write_text('{"<a>": 11, "<b>": 12, "fox": 5}')
    assert encode(open_reference(bert).tokenizer, "foxes") == [5, 6]
    (bert / "tokenizer_config.json").unlink()
    (bert / "added_tokens.json").write_text('{"<c>": 11, "": 12, "x": "y"}')
    assert encode(open_reference(bert).tokenizer, "fox<c>") == [5, 11]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"tokenizer_class": "BertJapaneseTokenizer"}, "is a BertJapaneseTokenizer, and the files do not say how"),
        ({"added_tokens_decoder": {"20": {"content": "<a>"}}}, "the id 20, but the vocabulary leaves it the id 11"),
    ],
)
def test_what_the_files_do_not_determine_is_refused(bert, config, message):
    (bert / "tokenizer_config.json").write_text(json.dumps(config))
    for read in (open_reference, read_spec):
        with pytest.raises(UnsupportedError, match=message):
            read(bert / "vocab.txt")


CLASSES = {
    "GPT2Tokenizer": {"add_bos_token": True, "bos_token": "<|end|>"},
    "CodeGenTokenizer": {"eos_token": "<|end|>"},
    "Qwen2Tokenizer": {"eos_token": "<|end|>"},
    "RobertaTokenizer": {"cls_token": "<|end|>", "sep_token": "x"},
}


def test_without_a_class_the_model_type_names_it(bpe):
    transformers = pytest.importorskip("transformers")
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        (bpe / name).unlink(missing_ok=True)
    vocabulary = json.loads((bpe / "vocab.json").read_text())
    tokens = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
    vocabulary |= {text: len(vocabulary) + at for at, text in enumerate(tokens)}
    (bpe / "vocab.json").write_text(json.dumps(vocabulary))
    (bpe / "config.json").write_text('{"model_type": "roberta"}')
    found = open_reference(bpe)
    theirs = transformers.AutoTokenizer.from_pretrained(bpe)
    for text in (*TEXTS, "a</s>b<mask>"):
        assert encode(found.tokenizer, text, add_special=True) == theirs.encode(text)
    assert found.caveat == ""


@pytest.mark.parametrize("name", CLASSES)
def test_classes_of_byte_level_bpe_split_and_surround_texts_as_in_transformers(bpe, name):
    transformers = pytest.importorskip("transformers")
    (bpe / "special_tokens_map.json").unlink()
    (bpe / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name, **CLASSES[name]}))
    expected = getattr(transformers, name).from_pretrained(bpe)
    actual = open_reference(bpe / "vocab.json").tokenizer
    for text in (*TEXTS, "12345 a1b22", "cafe\u0301's\r\n\n  x", "<|end|>fox <|end|>"):
        for add_special in (False, True):
            ids = expected.encode(text, add_special_tokens=add_special)
            assert encode(actual, text, add_special=add_special) == ids, text


def test_added_tokens_json_makes_control_tokens_of_those_with_a_role(bert):
    (bert / "added_tokens.json").write_text('{"<a>": 11, "<b>": 12, "<c>": 13}')
    (bert / "special_tokens_map.json").write_text('{"additional_special_tokens": ["<a>"], "eos_token": "<b>"}')
    types = load_model(bert / "vocab.txt").spec.types
    assert types[11:] == [TokenType.CONTROL, TokenType.CONTROL, TokenType.USER_DEFINED]
