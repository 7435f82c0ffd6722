"""Vocabularies for families without an available file: real tokens, written as that family stores them.

They have as many tokens as real files, tokens of realistic lengths, and pieces that cross the same boundaries.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from vocabulary import VOCABS

from support.gguf_maker import make_gguf, numbers, string, strings
from support.spec_maker import BYTE_PIECES
from tokverify import load_gguf
from tokverify.sources.gguf.cursor import ValueType
from tokverify.sources.gguf.declaration import read_spec
from tokverify.spec import TokenType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tokverify.sources.gguf.metadata import Value


def rwkv() -> dict[str, Value]:
    """Write the tokens of Qwen2, which are bytes too, as RWKV's file does."""
    qwen2 = load_gguf(VOCABS / "qwen2.gguf")
    normal = [id for id, type in enumerate(qwen2.spec.types) if type == TokenType.NORMAL]
    tokens = dict.fromkeys(["<s>", *(repr(qwen2.token_bytes(id))[2:-1] for id in normal)])
    return _fields("rwkv", [*tokens], ["<s>"])


def plamo(model: str) -> dict[str, Value]:
    """Use the pieces of XLM-R, whose scores are log probabilities like PLaMo's, with spaces instead of `▁`."""
    spec = read_spec(VOCABS / "nomic-bert-moe.gguf")
    listed = zip(spec.tokens, spec.types, spec.scores, strict=True)
    scores = {token.replace("▁", " "): score for token, type, score in listed if type == TokenType.NORMAL}
    tokens = ["<unk>", *BYTE_PIECES, *scores]
    fields = _fields(model, tokens, [], BYTE_PIECES)
    return fields | {"tokenizer.ggml.scores": numbers(ValueType.FLOAT32, [scores.get(token, 0.0) for token in tokens])}


def hybriddna() -> dict[str, Value]:
    """Add all k-mers to the tokens of GPT-2."""
    spec = read_spec(VOCABS / "gpt-2.gguf")
    kmers = ["".join(bases) + "\ue000" for bases in product("ACGT", repeat=6)]
    fields = _fields("hybriddna", [*spec.tokens, "<dna>", "</dna>", "<oov>", *kmers], [])
    return fields | {"tokenizer.ggml.pre": string("gpt-2"), "tokenizer.ggml.merges": strings(spec.merges)}


def whitespace() -> dict[str, Value]:
    """Use the pieces and merges of Gemma 4 that stay inside words."""
    spec = read_spec(VOCABS / "gemma-4.gguf")
    tokens = [token for token in spec.tokens if "▁" not in token]
    fields = _fields("whitespace", tokens, [])
    merges = [merge for merge in spec.merges if "▁" not in merge]
    return fields | {"tokenizer.ggml.pre": string("whitespace"), "tokenizer.ggml.merges": strings(merges)}


def _fields(model: str, tokens: Sequence[str], control: Sequence[str], bytes: Sequence[str] = ()) -> dict[str, Value]:
    special = dict.fromkeys(control, TokenType.CONTROL) | dict.fromkeys(bytes, TokenType.BYTE)
    types = [special.get(token, TokenType.NORMAL) for token in tokens]
    return {
        "tokenizer.ggml.model": string(model),
        "tokenizer.ggml.tokens": strings(tokens),
        "tokenizer.ggml.token_type": numbers(ValueType.INT32, types),
    }


MAKERS: dict[str, Callable[[], dict[str, Value]]] = {
    "rwkv": rwkv,
    "plamo2": lambda: plamo("plamo2"),
    "plamo3": lambda: plamo("plamo3"),
    "hybriddna": hybriddna,
    "whitespace": whitespace,
}


def write(name: str, path: Path) -> None:
    path.write_bytes(make_gguf({"general.architecture": string("llama")} | MAKERS[name]()))
