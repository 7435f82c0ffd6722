import json

import pytest

from tokverify.errors import TokverifyError
from tokverify.references import REFERENCES, load_reference, open_reference
from tokverify.spec import TokenizerSpec

SPEC = TokenizerSpec(model="gpt2", pre="gpt-2", tokens=["a", "b", "ab"], merges=["a b"])


def test_the_kinds():
    assert list(REFERENCES) == [
        "tokenizers",
        "sentencepiece",
        "tiktoken",
        "tekken",
        "rwkv",
        "vocab",
        "gguf",
        "hub",
        "rebuilt",
        "llama.cpp",
        "server",
        "command",
        "transformers",
        "transformers-gguf",
        "env",
    ]


def test_a_file_and_its_directory_find_the_same_reference(tmp_path, tokenizer_json, sentencepiece_model):
    (tmp_path / "tokenizer.model").write_bytes(sentencepiece_model)
    assert load_reference(tmp_path).name == "sentencepiece"
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer_json))
    assert load_reference(str(tmp_path)).name == "tokenizers"
    found = open_reference(tmp_path / "tokenizer.model")
    assert (found.source, found.reason) == (str(tmp_path / "tokenizer.model"), "as requested")


def test_rebuilt_needs_the_spec_of_the_model():
    tokenizer = load_reference("rebuilt", spec=SPEC)
    assert tokenizer.encode("ab", add_special=False, parse_special=False) == [2]
    with pytest.raises(TokverifyError, match="no GGUF file"):
        load_reference("rebuilt")


def test_an_explicit_kind_is_opened(tmp_path, tokenizer_json):
    path = tmp_path / "odd.bin"
    path.write_text(json.dumps(tokenizer_json))
    assert load_reference(f"tokenizers:{path}").name == "tokenizers"
