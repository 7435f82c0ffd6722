"""Load references that are files, by their kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tokverify.references.reference import FoundReference, Request
from tokverify.sources.location import kind_of

Loader = Callable[[Request], FoundReference]


def _tokenizers(request: Request) -> FoundReference:
    from tokverify.references import huggingface

    return huggingface.load(request)


def _sentencepiece(request: Request) -> FoundReference:
    from tokverify.references import sentencepiece

    return sentencepiece.load(request)


def _tiktoken(request: Request) -> FoundReference:
    from tokverify.references import tiktoken

    return tiktoken.load(request)


def _tekken(request: Request) -> FoundReference:
    from tokverify.references import tekken

    return tekken.load(request)


def _rwkv(request: Request) -> FoundReference:
    from tokverify.references import rwkv

    return rwkv.load(request)


def _gguf(request: Request) -> FoundReference:
    from tokverify.references import gguf

    return gguf.load(request)


FILE_REFERENCES: Mapping[str, Loader] = {
    "tokenizers": _tokenizers,
    "sentencepiece": _sentencepiece,
    "tiktoken": _tiktoken,
    "tekken": _tekken,
    "rwkv": _rwkv,
    "gguf": _gguf,
}
"""Kind of a file, as `kind_of` returns it -> its loader."""


def open_file(path: Path) -> FoundReference:
    """Load a tokenizer file of any of these kinds.

    Raises:
        BrokenFileError: If it cannot be read.
        UnsupportedError: If it is a kind of tokenizer that cannot be a reference.
        MissingLibraryError: If the library that reads it is not installed.
    """
    return FILE_REFERENCES[kind_of(path)](Request(str(path)))
