"""Load references that are files, by their kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tokverify.location import Location
from tokverify.references.reference import FoundReference
from tokverify.sources.location import kind_of
from tokverify.sources.stores.location import find_model
from tokverify.spec import TokenizerSpec

_SAME_ENCODER = (
    "tokverify encodes both sides: agreement proves that the two files hold the same tokenizer, not that either is "
    "correct"
)

FileLoader = Callable[[Location | Path], FoundReference]
"""Takes a location, or a path that the program has found."""


def _tokenizers(path: Location | Path) -> FoundReference:
    from tokverify.references import huggingface

    return huggingface.load(path)


def _sentencepiece(path: Location | Path, model: TokenizerSpec | None = None) -> FoundReference:
    from tokverify.references import sentencepiece

    return sentencepiece.load(path, model)


def _tiktoken(path: Location | Path, model: TokenizerSpec | None = None) -> FoundReference:
    from tokverify.references import tiktoken

    return tiktoken.load(path, model)


def _tekken(path: Location | Path) -> FoundReference:
    from tokverify.references import tekken

    return tekken.load(path)


def _rwkv(path: Location | Path) -> FoundReference:
    from tokverify.references import rwkv

    return rwkv.load(path)


def _gguf(place: Location | Path) -> FoundReference:
    from tokverify.engine.encoder import Encoder
    from tokverify.sources.gguf.declaration import read_spec

    file = find_model(place)
    with file.named_in_errors():
        spec = read_spec(file.path)
    with file.prefixed_to_errors():
        encoder = Encoder(spec, file.name, in_background=True)
    return FoundReference(encoder, source=file.location, sha256=file.sha256, caveat=_SAME_ENCODER, path=file.path)


def _vocab(path: Location | Path, model: TokenizerSpec | None = None) -> FoundReference:
    from tokverify.references import vocab

    return vocab.load(path, model)


FILE_REFERENCES: Mapping[str, FileLoader] = {
    "tokenizers": _tokenizers,
    "sentencepiece": _sentencepiece,
    "tiktoken": _tiktoken,
    "tekken": _tekken,
    "rwkv": _rwkv,
    "vocab": _vocab,
    "gguf": _gguf,
}
"""Kind of a file, as `kind_of` returns it -> its loader."""


def open_file(place: Location | Path, model: TokenizerSpec | None = None) -> FoundReference:
    """Load a tokenizer file of any of these kinds; `model` is what it is to be compared with.

    Raises:
        TokverifyError: If a file names it that may not lead there.
        BrokenFileError: If it cannot be read.
        UnsupportedError: If it is a kind of tokenizer that cannot be a reference.
        MissingLibraryError: If the library that reads it is not installed.
    """
    return load_file(kind_of(Path(place)), place, model)


def load_file(kind: str, place: Location | Path, model: TokenizerSpec | None) -> FoundReference:
    """Load a file of a known kind; see `open_file`."""
    # These files leave open which special tokens they have.
    if kind == "tiktoken":
        return _tiktoken(place, model)
    if kind == "sentencepiece":
        return _sentencepiece(place, model)
    return _vocab(place, model) if kind == "vocab" else FILE_REFERENCES[kind](place)
