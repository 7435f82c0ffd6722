"""Test that `run` and `fix` escape hostile tokens in a diagnosis."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.gguf_maker import make_gguf, string
from support.hostile import FORBIDDEN
from support.selection import thinned
from support.spec_maker import CONTROL, bpe_spec
from tokverify.commands.cli import main
from tokverify.sources.gguf.patch import write_patched
from tokverify.sources.gguf.values import changed_values
from tokverify.spec import TokenizerSpec, TokenType

TEXTS = ("[/INST]", "[red]x", "\x1b[31m<|a|>", "<|\u202e|>", "<|" + "x" * 10_000 + "|>")
SHOWN = ('"[/INST]"', '"[red]x"', '"\\x1b[31m<|a|>"', '"<|\\u202e|>"', "(10,004 characters)")
SPEC = bpe_spec(["a b"], dict.fromkeys(TEXTS, CONTROL), special_ids={"bos": 0, "eos": 0})
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
FLAGS = {"special": True, "single_word": False, "normalized": False, "lstrip": False, "rstrip": False}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Create a reference, cases with each text, and a GGUF file without a tokenizer."""
    document = {
        "version": "1.0",
        "added_tokens": [{"id": SPEC.tokens.index(text), "content": text, **FLAGS} for text in TEXTS],
        "normalizer": None,
        "pre_tokenizer": BYTE_LEVEL,
        "post_processor": None,
        "decoder": BYTE_LEVEL,
        "model": {
            "type": "BPE",
            "vocab": {token: id for id, token in enumerate(SPEC.tokens) if token not in TEXTS},
            "merges": list(SPEC.merges),
        },
    }
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    cases = [f"  - {{id: a{index}, text: {json.dumps(f'a{text}b')}}}" for index, text in enumerate(TEXTS)]
    (tmp_path / "suite.yaml").write_text("\n".join(["suite: s", "cases:", *cases]))
    (tmp_path / "bare.gguf").write_bytes(make_gguf({"general.architecture": string("llama")}))
    return tmp_path


@pytest.mark.process  # takes seconds
@pytest.mark.parametrize(("text", "shown"), thinned(2, list(zip(TEXTS, SHOWN, strict=True))), ids=range(len(TEXTS)))
@pytest.mark.parametrize("command", thinned(2, ["run", "run -v", "fix -o fixed.gguf", "fix --dry-run"]))
def test_a_mistyped_token_is_named_safely(directory: Path, monkeypatch, command, text, shown):
    monkeypatch.chdir(directory)
    types = [TokenType.NORMAL if token == text else type for token, type in zip(SPEC.tokens, SPEC.types, strict=True)]
    wrong = replace(SPEC, types=types)
    write_patched(Path("bare.gguf"), Path("model.gguf"), changed_values(TokenizerSpec(model="", tokens=()), wrong))
    name, *options = command.split()
    arguments = [name, "model.gguf", "-r", "tokenizer.json", "--cases", "suite.yaml", *options]
    output = CliRunner().invoke(main, arguments).output
    assert shown in " ".join(output.split())
    assert not any(character in output for character in FORBIDDEN)
    if "-v" not in options:
        assert len(output) < 20_000
