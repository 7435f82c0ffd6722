"""Load references that are files, by their kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path

from tokverify.files.location import kind_of
from tokverify.references.reference import FoundReference, Request

Loader = Callable[[Request], FoundReference]


def load_with(module: str, request: Request) -> FoundReference:
    """Call the loader in a module of this package, which is imported only then."""
    found: FoundReference = import_module(f"tokverify.references.{module}").load(request)
    return found


FILE_REFERENCES: Mapping[str, Loader] = {
    "tokenizers": partial(load_with, "huggingface"),
    "sentencepiece": partial(load_with, "sentencepiece"),
    "tiktoken": partial(load_with, "tiktoken"),
    "tekken": partial(load_with, "tekken"),
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
