"""Each command shows a token that nobody should print as it is escaped once: never raw, and never twice."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from gguf_maker import make_gguf, string
from spec_maker import CONTROL, bpe_spec

from tokverify.cli import main
from tokverify.gguf_change import changed_values
from tokverify.gguf_patch import write_patched
from tokverify.spec import TokenizerSpec, TokenType

PIECE = "<|a\\b\n\x1bc|>"
TEMPLATE = "{% for message in messages %}" + PIECE + "{{ message.content }}{% endfor %}"
SPEC = bpe_spec(["a b"], {PIECE: CONTROL, "<|end|>": CONTROL}, special_ids={"bos": 257, "eos": 258}, add_bos=True)
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
FLAGS = {"special": True, "single_word": False, "normalized": False, "lstrip": False, "rstrip": False}

ONCE = re.compile(r"<\|a\\\\b(↵|\\n)\\x1bc\|>")
WRONG = {
    "raw": re.compile(r"[\x1b]"),
    "a backslash that is not escaped": re.compile(r"a\\b"),
    "a backslash that is escaped twice": re.compile(r"\\\\\\"),
    "an escape that is escaped": re.compile(r"\\\\(?:x1b|n|u)|\\u(?:21b5|00b7)"),
}


def write_gguf(path: Path, spec: TokenizerSpec, template: str = TEMPLATE) -> None:
    fields = {
        "general.architecture": string("llama"),
        "general.name": string(PIECE),
        "tokenizer.chat_template": string(template),
    }
    bare = path.with_name("bare.gguf")
    bare.write_bytes(make_gguf(fields))
    write_patched(bare, path, changed_values(TokenizerSpec(model="", tokens=()), spec))


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reference, a good model, one in which the piece is an ordinary token, and one without it."""
    path = tmp_path_factory.mktemp("hostile")
    types = [TokenType.NORMAL if token == PIECE else type for token, type in zip(SPEC.tokens, SPEC.types, strict=True)]
    tokens = ["other" if token == PIECE else token for token in SPEC.tokens]
    write_gguf(path / "good.gguf", SPEC)
    write_gguf(path / "model.gguf", replace(SPEC, types=types))
    write_gguf(path / "other.gguf", replace(SPEC, tokens=tokens), "x")
    (path / "tokenizer.json").write_text(json.dumps(document()))
    (path / "flagged.json").write_text(json.dumps(document(rstrip=True)))
    config = {"bos_token": PIECE, "add_bos_token": False, "chat_template": f"{TEMPLATE}!"}
    (path / "tokenizer_config.json").write_text(json.dumps(config))
    cases = [
        {"id": "a", "text": f"a{PIECE}b"},
        {"id": "expects", "text": PIECE, "expect": {"good": [f"no{PIECE}"], "model": [f"no{PIECE}"]}},
        {"id": "begins", "text": f"{PIECE}b"},
    ]
    (path / "suite.yaml").write_text(json.dumps({"suite": "s", "cases": cases}))
    (path / "corpus.txt").write_text(f"ab {PIECE} ab\n" * 20)
    return path


def document(**flags: bool) -> dict[str, object]:
    vocab = {token: id for id, token in enumerate(SPEC.tokens) if not token.startswith("<|")}
    return {
        "version": "1.0",
        "added_tokens": [
            {"id": SPEC.tokens.index(text), "content": text, **FLAGS, **flags} for text in (PIECE, "<|end|>")
        ],
        "normalizer": None,
        "pre_tokenizer": BYTE_LEVEL,
        "post_processor": None,
        "decoder": BYTE_LEVEL,
        "model": {"type": "BPE", "vocab": vocab, "merges": ["a b"]},
    }


COMMANDS = [
    "run model.gguf -r tokenizer.json --cases suite.yaml",
    "run model.gguf -r tokenizer.json --cases suite.yaml -v",
    "run good.gguf -r expect --cases suite.yaml -k expects",
    "run other.gguf -r tokenizer.json --cases suite.yaml -f markdown",
    "run model.gguf -r tokenizer.json --cases suite.yaml -f github",
    "fuzz model.gguf -r tokenizer.json --count 200 --generator added-tokens",
    "audit model.gguf -r tokenizer.json",
    "audit other.gguf -r tokenizer.json",
    "audit other.gguf -r tokenizer.json -f github",
    "inspect model.gguf",
    "inspect model.gguf --tokens 250-300",
    "fix model.gguf -r tokenizer.json --cases suite.yaml --dry-run",
    "explain model.gguf TEXT",
    "explain model.gguf TEXT -r tokenizer.json --full",
    "stats model.gguf corpus.txt -m good.gguf",
    "diff good.gguf other.gguf --cases suite.yaml",
    "diff good.gguf other.gguf --cases suite.yaml -v",
    "diff good.gguf other.gguf --cases suite.yaml -f markdown",
    "chat model.gguf -r tokenizer.json",
    "chat model.gguf -r tokenizer.json -v",
    "encode good.gguf TEXT",
    "decode good.gguf 256 257",
    "cases list suite.yaml",
    "run good.gguf -r TEXT",
    "cases list suite.yaml -k TEXT",
    "convert flagged.json -o converted.gguf --force",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_token_is_shown_escaped_once(directory: Path, monkeypatch: pytest.MonkeyPatch, command: str):
    monkeypatch.chdir(directory)
    monkeypatch.setenv("COLUMNS", "1000")
    arguments = [word.replace("TEXT", f"a{PIECE}b") for word in command.split()]
    output = CliRunner().invoke(main, arguments).output
    assert ONCE.search(output), output
    for what, pattern in WRONG.items():
        assert not pattern.search(output), (what, output)


def test_train_shows_a_name_escaped_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("corpus.txt").write_text("some words and some other words\n" * 100)
    output = CliRunner().invoke(main, ["train", "bpe", "corpus.txt", "-o", PIECE, "--vocab-size", "300"]).output
    assert "written   <|a\\b↵\\x1bc|>: " in output
    assert not WRONG["raw"].search(output)
    assert not WRONG["an escape that is escaped"].search(output)
