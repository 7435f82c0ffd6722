"""A directory of models and references in which one piece appears wherever a command could show it."""

import json
from dataclasses import replace
from pathlib import Path

from support.gguf_maker import make_gguf, string
from support.spec_maker import CONTROL, bpe_spec
from tokverify.sources.gguf.patch import write_patched
from tokverify.sources.gguf.values import changed_values
from tokverify.spec import TokenizerSpec, TokenType

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
FLAGS = {"special": True, "single_word": False, "normalized": False, "lstrip": False, "rstrip": False}

COMMANDS = [
    "run model.gguf -r tokenizer.json --cases suite.yaml",
    "run model.gguf -r tokenizer.json --cases suite.yaml -v",
    "run good.gguf -r expect --cases suite.yaml -k expects",
    "run other.gguf -r tokenizer.json --cases suite.yaml -f markdown",
    "run model.gguf -r tokenizer.json --cases suite.yaml -f github",
    "fuzz model.gguf -r tokenizer.json --texts 200 --generator added-tokens",
    "audit model.gguf -r tokenizer.json",
    "audit other.gguf -r tokenizer.json",
    "audit other.gguf -r tokenizer.json -f github",
    "inspect model.gguf",
    "inspect model.gguf --tokens 250-300",
    "fix model.gguf -r tokenizer.json --cases suite.yaml --dry-run",
    "explain model.gguf TEXT",
    "explain model.gguf TEXT -r tokenizer.json -v",
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
    "convert flagged.json -o converted.gguf --unexplained",
]
"""Commands to run in the directory; TEXT is a text that contains the token."""


def fill(path: Path, piece: str) -> None:
    """Write a reference, a good model, one in which the piece is an ordinary token, and one without it."""
    spec = bpe_spec(["a b"], {piece: CONTROL, "<|end|>": CONTROL}, special_ids={"bos": 257, "eos": 258}, add_bos=True)
    template = "{% for message in messages %}" + piece + "{{ message.content }}{% endfor %}"
    types = [TokenType.NORMAL if token == piece else type for token, type in zip(spec.tokens, spec.types, strict=True)]
    tokens = ["other" if token == piece else token for token in spec.tokens]
    write_gguf(path / "good.gguf", spec, piece, template)
    write_gguf(path / "model.gguf", replace(spec, types=types), piece, template)
    write_gguf(path / "other.gguf", replace(spec, tokens=tokens), piece, "x")
    (path / "tokenizer.json").write_text(json.dumps(document(spec, piece)))
    (path / "flagged.json").write_text(json.dumps(document(spec, piece, rstrip=True)))
    config = {"bos_token": piece, "add_bos_token": False, "chat_template": f"{template}!"}
    (path / "tokenizer_config.json").write_text(json.dumps(config))
    cases = [
        {"id": "a", "text": f"a{piece}b"},
        {"id": "expects", "text": piece, "expect": {"good": [f"no{piece}"], "model": [f"no{piece}"]}},
        {"id": "begins", "text": f"{piece}b"},
    ]
    (path / "suite.yaml").write_text(json.dumps({"suite": "s", "cases": cases}))
    (path / "corpus.txt").write_text(f"ab {piece} ab\n" * 20)


def write_gguf(path: Path, spec: TokenizerSpec, name: str, template: str) -> None:
    fields = {
        "general.architecture": string("llama"),
        "general.name": string(name),
        "tokenizer.chat_template": string(template),
    }
    bare = path.with_name("bare.gguf")
    bare.write_bytes(make_gguf(fields))
    write_patched(bare, path, changed_values(TokenizerSpec(model="", tokens=()), spec))


def document(spec: TokenizerSpec, piece: str, **flags: bool) -> dict[str, object]:
    vocab = {token: id for id, token in enumerate(spec.tokens) if token not in {piece, "<|end|>"}}
    return {
        "version": "1.0",
        "added_tokens": [
            {"id": spec.tokens.index(text), "content": text, **FLAGS, **flags} for text in (piece, "<|end|>")
        ],
        "normalizer": None,
        "pre_tokenizer": BYTE_LEVEL,
        "post_processor": None,
        "decoder": BYTE_LEVEL,
        "model": {"type": "BPE", "vocab": vocab, "merges": ["a b"]},
    }
