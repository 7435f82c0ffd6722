import base64
import json
import os
import re
from array import array

import pytest

from support.charsmap_maker import make_charsmap, pack_charsmap
from tokverify.errors import BrokenFileError, EncodeError
from tokverify.references.huggingface import HuggingFaceTokenizer, from_json, load


def tokenizer_of(content: dict) -> HuggingFaceTokenizer:
    return from_json(json.dumps(content).encode(), source="test").tokenizer


@pytest.fixture
def words(tokenizer_json) -> HuggingFaceTokenizer:
    return tokenizer_of(tokenizer_json)


def encode(tokenizer, text, *, add_special=False, parse_special=False):
    return tokenizer.encode(text, add_special=add_special, parse_special=parse_special)


def test_nothing_is_truncated_or_padded(words):
    assert encode(words, "red fox red") == [3, 4, 3]


def test_add_special(words):
    assert encode(words, "red", add_special=True) == [1, 3, 2]
    assert encode(words, "", add_special=True) == [1, 2]


def test_parse_special_decides_on_control_tokens_but_not_on_other_added_ones(words):
    assert encode(words, "<s>fox<tool>", parse_special=True) == [1, 4, 5]
    assert encode(words, "<s>fox<tool>") == [0, 5]
    assert encode(words, "<s>fox<tool>", parse_special=True) == [1, 4, 5]


def test_a_text_that_cannot_be_encoded_is_an_error_of_that_text(words):
    with pytest.raises(EncodeError, match="tokenizers cannot encode this text"):
        encode(words, "\ud800")
    assert encode(words, "fox") == [4]


def test_a_library_that_fails_on_a_text_is_an_error_of_that_text(tokenizer_json):
    del tokenizer_json["model"]["vocab"]["[UNK]"]
    with pytest.raises(EncodeError, match=r"cannot encode this text \(WordLevel error: Missing \[UNK\] token"):
        encode(tokenizer_of(tokenizer_json), "nothing known")


def test_decode_keeps_special_tokens_and_refuses_unknown_ids(words):
    assert words.decode([1, 3, 4, 2]) == b"<s> red fox </s>"
    assert words.decode([]) == b""
    for id in (6, -1, 2**40):
        with pytest.raises(EncodeError, match=f"no token with the id {id}"):
            words.decode([3, id])


def test_pieces_and_sizes_with_gaps_between_ids(tokenizer_json):
    tokenizer_json["model"]["vocab"] |= {"<tool>": 5, "late": 9}
    words = tokenizer_of(tokenizer_json)
    assert words.vocab_size == 10
    assert [words.piece(id) for id in (-1, 0, 5, 7, 9, 10)] == ["", "[UNK]", "<tool>", "", "late", ""]
    with pytest.raises(EncodeError, match="id 7"):
        words.decode([7])


def test_special_ids_are_those_the_post_processor_adds_around_a_text(words, tokenizer_json):
    assert words.special_ids == {"bos": 1, "eos": 2}
    del tokenizer_json["post_processor"]["single"][0]
    assert tokenizer_of(tokenizer_json).special_ids == {"eos": 2}
    tokenizer_json["post_processor"] = {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1]}
    tokenizer_json["post_processor"] |= {"trim_offsets": True, "add_prefix_space": False}
    assert tokenizer_of(tokenizer_json).special_ids == {"cls": 1, "sep": 2}
    tokenizer_json["post_processor"] = None
    assert tokenizer_of(tokenizer_json).special_ids == {}


def test_two_tokens_before_a_text_have_no_known_role(tokenizer_json):
    template = tokenizer_json["post_processor"]["single"]
    template.insert(0, template[0])
    words = tokenizer_of(tokenizer_json)
    assert encode(words, "fox", add_special=True) == [1, 1, 4, 2]
    assert words.special_ids == {"eos": 2}


def test_a_template_with_an_undefined_token_implies_no_role(tokenizer_json):
    tokenizer_json["post_processor"]["special_tokens"].pop("<s>")
    assert tokenizer_of(tokenizer_json).special_ids == {"eos": 2}


def test_a_template_without_the_text_implies_no_role(tokenizer_json):
    del tokenizer_json["post_processor"]["single"][1]
    assert tokenizer_of(tokenizer_json).special_ids == {}


def test_the_config_next_to_the_file_declares_the_roles(tokenizer_json, tmp_path):
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer_json))
    (tmp_path / "special_tokens_map.json").write_text('{"eos_token": "<s>", "unk_token": "[UNK]"}')
    config = {"bos_token": None, "eos_token": {"content": "</s>"}, "pad_token": "<gone>"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    found = load(tmp_path / "tokenizer.json")
    assert found.tokenizer.special_ids == {"eos": 2, "unk": 0}


def test_the_config_of_another_model_in_the_directory_is_not_taken(tokenizer_json, tmp_path):
    (tmp_path / "fox.tokenizer.json").write_text(json.dumps(tokenizer_json))
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "<s>"}')
    assert load(tmp_path / "fox.tokenizer.json").tokenizer.special_ids == {"bos": 1, "eos": 2}
    (tmp_path / "fox.tokenizer_config.json").write_text('{"eos_token": "<s>"}')
    assert load(tmp_path / "fox.tokenizer.json").tokenizer.special_ids == {"eos": 1}


@pytest.mark.parametrize("config", ["{", "[]", "\x00"])
def test_a_broken_config_is_named(tokenizer_json, tmp_path, config):
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer_json))
    (tmp_path / "tokenizer_config.json").write_text(config)
    with pytest.raises(BrokenFileError, match=r"tokenizer_config\.json: .*JSON.*; repair or remove it"):
        load(tmp_path / "tokenizer.json")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "not a tokenizer.json, because it is not valid JSON"),
        (b"{", "not a tokenizer.json, because it is not valid JSON"),
        (b"\xff\xfe", "not a tokenizer.json, because it is not valid JSON"),
        (b"[" * 100_000, "not a tokenizer.json, because it is not valid JSON"),
        (b"[]", "JSON, but not a HuggingFace tokenizer.json"),
        (b'{"name": "fox"}', "JSON, but not a HuggingFace tokenizer.json"),
        (
            b'\xef\xbb\xbf{"version": "1.0", "model": {}}',
            "tokenizers cannot load it, as it begins with a byte order mark",
        ),
        (b'{"version": "1.0", "model": {"type": "Poem"}}', r"tokenizers [\d.]+ cannot load it \(.+\)"),
    ],
)
def test_anything_but_a_tokenizer_json_gives_one_line(content, why):
    with pytest.raises(BrokenFileError, match=f"here: {why}") as caught:
        from_json(content, source="here")
    assert "\n" not in str(caught.value)


def test_a_message_is_about_the_document_itself():
    tokenizers = pytest.importorskip("tokenizers")
    model = {"type": "BPE", "vocab": {"a": 0}, "merges": [["a", "b"]]}
    content = json.dumps({"version": "1.0", "model": model, "decoder": {"type": "Poem"}}, indent=1).encode()
    with pytest.raises(Exception, match=r"line 1[0-9] column") as expected:
        tokenizers.Tokenizer.from_buffer(content)
    with pytest.raises(BrokenFileError, match=re.escape(str(expected.value))):
        from_json(content, source="here")


def test_provenance(tokenizer_json):
    import hashlib

    import tokenizers

    content = json.dumps(tokenizer_json).encode()
    found = from_json(content, source="here")
    assert (found.source, found.sha256) == ("here", hashlib.sha256(content).hexdigest())
    assert found.versions == {"tokenizers": tokenizers.__version__}


def test_bytes_of_wordpieces(tokenizer_json):
    vocab = {"[UNK]": 0, "<s>": 1, "</s>": 2, "fox": 3, "##es": 4}
    tokenizer_json["model"] = {
        "type": "WordPiece",
        "vocab": vocab,
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 99,
    }
    wordpiece = tokenizer_of(tokenizer_json)
    assert encode(wordpiece, "foxes") == [3, 4]
    assert [wordpiece.token_bytes(id) for id in (1, 3, 4, 5)] == [b"<s>", b" fox", b"es", b"<tool>"]


def test_bytes_of_added_tokens_follow_the_decoder_unless_they_are_special(tokenizer_json):
    tokenizer_json["normalizer"] = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    tokenizer_json["added_tokens"][0]["content"] = "<▁s>"
    tokenizer_json["added_tokens"][2]["content"] = "▁▁"
    del tokenizer_json["post_processor"]
    words = tokenizer_of(tokenizer_json)
    special = words.encode("<▁s>", add_special=False, parse_special=True)
    assert [words.token_bytes(id) for id in special] == ["<▁s>".encode()]
    [spaces] = encode(words, "▁▁")
    assert words.token_bytes(spaces) == b"  "


def test_bytes_of_a_byte_level_vocabulary(vocabs):
    gpt2 = load(vocabs / "gpt-2.tokenizer.json").tokenizer
    llama = encode(gpt2, " \N{LLAMA}")
    assert [gpt2.piece(id) for id in llama] == ["ĠðŁ", "¦", "Ļ"]
    assert b"".join(map(gpt2.token_bytes, llama)) == " \N{LLAMA}".encode()
    assert gpt2.decode(llama[:1]) == " \N{REPLACEMENT CHARACTER}".encode()
    assert gpt2.token_bytes(50256) == b"<|endoftext|>"


def test_bytes_of_a_sentencepiece_style_vocabulary(vocabs):
    llama = load(vocabs / "llama-spm.tokenizer.json").tokenizer
    ids = encode(llama, "a\x00 \N{LLAMA}")
    assert b"".join(map(llama.token_bytes, ids)) == " a\x00 \N{LLAMA}".encode()
    assert llama.decode(ids) == "a\x00 \N{LLAMA}".encode()
    assert llama.token_bytes(1) == b"<s>"


@pytest.mark.parametrize("name", ["gpt-2", "llama-spm"])
def test_real_vocabularies_agree_with_llama_cpp(vocabs, golden, name):
    tokenizer = load(vocabs / f"{name}.tokenizer.json").tokenizer
    differing = [
        text
        for text, add_special, parse_special, ids in golden(name)
        if encode(tokenizer, text, add_special=add_special, parse_special=parse_special) != ids
    ]
    assert differing == []


def test_mpt_normalizes_where_its_gguf_cannot(vocabs):
    mpt = load(vocabs / "mpt.tokenizer.json").tokenizer
    assert encode(mpt, "e\u0301") == encode(mpt, "\u00e9")


@pytest.mark.parametrize(
    "part",
    [
        {
            "model": {
                "type": "BPE",
                "vocab": {"a": 0, "##b": 1},
                "merges": ["a ##b"],
                "continuing_subword_prefix": "####",
            }
        },
    ],
)
def test_a_file_that_makes_the_library_panic_gives_one_line_and_nothing_else(tokenizer_json, part, capfd):
    with pytest.raises(BrokenFileError, match="the library panicked"):
        tokenizer_of(tokenizer_json | part)
    assert capfd.readouterr().err == ""


def test_a_charsmap_on_which_the_library_would_abort_is_rejected_before(tokenizer_json):
    empty = {"normalizer": {"type": "Precompiled", "precompiled_charsmap": ""}}
    with pytest.raises(BrokenFileError, match="the charsmap is damaged"):
        tokenizer_of(tokenizer_json | empty)


def test_texts_that_each_make_the_library_panic_are_errors_too(tokenizer_json, capfd):
    template = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "X", "type_id": 0}}], "pair": []}
    broken = tokenizer_of(tokenizer_json | {"post_processor": template | {"special_tokens": {}}})
    with pytest.raises(EncodeError, match="the library panicked: no entry found for key"):
        encode(broken, "red", add_special=True)
    assert capfd.readouterr().err == ""


def test_a_single_text_that_makes_the_library_panic_is_an_error_too(tokenizer_json, capfd):
    # The replacement for `x` is to begin behind the end of all replacements.
    sound = array("I", make_charsmap({"x": "y"})[4:-2])
    broken = pack_charsmap([1 << 31 | 9999 if entry >> 31 else entry for entry in sound], b"y\0")
    charsmap = base64.b64encode(broken).decode()
    words = tokenizer_of(tokenizer_json | {"normalizer": {"type": "Precompiled", "precompiled_charsmap": charsmap}})
    assert encode(words, "red") == [3]
    with pytest.raises(EncodeError, match=r"the library panicked: (start )?byte index 9999 is out of bounds"):
        encode(words, "x")
    os.write(2, b"written afterwards\n")
    assert capfd.readouterr().err == "written afterwards\n"


def test_the_unknown_token_of_a_unigram_model_is_the_one_that_it_writes(tmp_path):
    model = {
        "type": "Unigram",
        "unk_id": 1,
        "vocab": [["<unk>", 0.0], ["<pad>", 0.0], ["a", -1.0], ['"unk_id": 2', -9.0]],
    }
    document = {"version": "1.0", "added_tokens": [], "model": model}
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    (tmp_path / "special_tokens_map.json").write_text('{"unk_token": "<unk>"}')
    found = load(tmp_path / "tokenizer.json")
    assert found.tokenizer.special_ids == {"unk": 1}
    assert found.tokenizer.encode("z", add_special=False, parse_special=False) == [1]


def test_dropout_is_off(tmp_path):
    # nb-whisper is published with the dropout of its training, so that its library encodes each text at random.
    letters = "abcdefgh"
    model = {
        "type": "BPE",
        "dropout": 0.5,
        "vocab": {piece: id for id, piece in enumerate([*letters, "ab", "cd", "abcd"])},
        "merges": ["a b", "c d", "ab cd"],
    }
    (tmp_path / "tokenizer.json").write_text(json.dumps({"version": "1.0", "added_tokens": [], "model": model}))
    tokenizer = load(tmp_path / "tokenizer.json").tokenizer
    ids = {tuple(tokenizer.encode("abcd", add_special=False, parse_special=False)) for _ in range(50)}
    assert ids == {(10,)}
