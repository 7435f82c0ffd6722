"""References whose vocabulary is a file of its own."""

import json
from pathlib import Path

import pytest
from tokenizers.pre_tokenizers import ByteLevel

from support.byte_level_maker import train_byte_level
from tokverify.errors import BrokenFileError
from tokverify.references import open_reference

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


def test_the_configuration_can_ask_for_a_space_before_a_text(bpe):
    (bpe / "tokenizer_config.json").write_text('{"add_prefix_space": true}')
    tokenizer = open_reference(bpe / "vocab.json").tokenizer
    assert encode(tokenizer, "a") == encode(tokenizer, " a")


@pytest.mark.parametrize(("config", "lowercase"), [(None, True), ({"do_lower_case": False}, False)])
def test_vocab_txt_is_wordpiece(tmp_path, config, lowercase):
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nfox\n##es\nFox\n")
    if config:
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    found = open_reference(tmp_path / "vocab.txt")
    assert encode(found.tokenizer, "Foxes ?") == [4 if lowercase else 6, 5, 1]
    assert encode(found.tokenizer, "fox", add_special=True) == [2, 4, 3]
    assert encode(found.tokenizer, "[SEP]") == [3]
    assert "BERT's WordPiece was assumed" in found.caveat


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("vocab.json", b"[1]", "vocab.json: not a JSON object"),
        ("vocab.json", b"{", "vocab.json: cannot be read as JSON"),
        ("vocab.json", b'{"a": "b"}', "vocab.json: not a vocabulary that tokenizers can read"),
        ("vocab.json", b'{"a": 0}', r"merges.txt: cannot be read \(No such file or directory\)"),
        ("vocab.txt", b"\xff", "vocab.txt: not a vocabulary that tokenizers can read"),
        ("vocab.txt", b"", "vocab.txt: "),
    ],
)
def test_files_that_are_no_vocabulary_give_one_line(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BrokenFileError, match=message) as caught:
        open_reference(tmp_path / name)
    assert "\n" not in str(caught.value)
