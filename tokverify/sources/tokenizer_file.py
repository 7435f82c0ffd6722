"""Read a tokenizer file of any format.

A new format needs one reader and one line in `READERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.sources.location import file_and_rest, find_existing, kind_of, read_file
from tokverify.spec import TokenizerSpec


def _gguf(path: Path) -> TokenizerSpec:
    from tokverify.sources.gguf.declaration import read_spec

    return read_spec(path)


def _tokenizers(path: Path) -> TokenizerSpec:
    from tokverify.sources.huggingface.conversion import read_spec

    return read_spec(path)


def _sentencepiece(path: Path) -> TokenizerSpec:
    from tokverify.sources.sentencepiece.reader import read_with_added_tokens

    return read_with_added_tokens(path)


def _tiktoken(path: Path) -> TokenizerSpec:
    from tokverify.sources.tiktoken.reader import read_spec

    return read_spec(path)


def _tekken(path: Path) -> TokenizerSpec:
    from tokverify.sources.tiktoken.tekken import read_spec

    return read_spec(path)


def _rwkv(path: Path) -> TokenizerSpec:
    from tokverify.sources.rwkv import read_spec

    return read_spec(path)


def _vocab(path: Path) -> TokenizerSpec:
    from tokverify.sources.huggingface.conversion import read_vocabulary_files

    return read_vocabulary_files(path)


READERS: Mapping[str, Callable[[Path], TokenizerSpec]] = {
    "gguf": _gguf,
    "tokenizers": _tokenizers,
    "sentencepiece": _sentencepiece,
    "tiktoken": _tiktoken,
    "tekken": _tekken,
    "rwkv": _rwkv,
    "vocab": _vocab,
}

_OTHER_SUFFIXES = frozenset([".json", ".model", ".tiktoken"])


def read_spec(path: Path | str) -> TokenizerSpec:
    """Read a tokenizer file of one of the kinds in `READERS`.

    If the pattern of ranks is not known, the path is FILE:PATTERN.

    Raises:
        BrokenFileError: If the file is none of these, or is damaged.
        UnsupportedError: If it is valid but of a kind that cannot be read, or that GGUF cannot express.
        TokverifyError: If the file does not exist.
    """
    path = Path(path)
    return read_spec_of_kind(path, kind_of_model(path))


def read_spec_of_kind(path: Path, kind: str) -> TokenizerSpec:
    """Read a tokenizer file whose kind is known.

    Raises:
        TokverifyError: As `read_spec` does.
    """
    if kind not in READERS:
        raise UnsupportedError(f"{path}: a {kind} file can only be the reference (-r); name a file of another kind")
    return READERS[kind](path)


def file_of(path: Path) -> Path:
    """Remove the pattern from `FILE:PATTERN`; return any other path unchanged; errors as for `find_existing`."""
    file = None if find_existing(str(path)) else file_and_rest(str(path))
    return file[0] if file else path


def kind_of_model(path: Path) -> str:
    """Recognize the kind of a tokenizer file; for any other file, return "gguf", whose reader gives the best error.

    Raises:
        BrokenFileError: If its suffix is that of another kind, but its content is not.
        UnsupportedError: If it is a tokenizer of a kind that tokverify lacks.
    """
    file = file_of(path)
    if path.suffix == ".gguf" or not file.is_file() or read_file(file, 4) == b"GGUF":
        return "gguf"
    if file.name == "merges.txt":
        raise UnsupportedError(f"{path}: only a part of a tokenizer; name the vocab.json beside it")
    try:
        kind = kind_of(file)
    except BrokenFileError:
        if path.suffix in _OTHER_SUFFIXES:
            raise
        # The reader of GGUF gives the best error for an unknown file.
        return "gguf"
    # Only a .tiktoken file can be followed by a pattern.
    return kind if file == path or kind == "tiktoken" else "gguf"
