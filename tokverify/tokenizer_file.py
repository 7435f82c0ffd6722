"""A tokenizer file of any format -> TokenizerSpec.

A new format is one reader and one line in `READERS`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokverify import gguf_file, huggingface_file, sentencepiece_file
from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.references.location import kind_of, read_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokverify.spec import TokenizerSpec

READERS: Mapping[str, Callable[[Path], TokenizerSpec]] = {
    "gguf": gguf_file.read_spec,
    "tokenizers": huggingface_file.read_spec,
    "sentencepiece": sentencepiece_file.read_spec,
}

_OTHER_SUFFIXES = frozenset([".json", ".model"])


def read_spec(path: Path | str) -> TokenizerSpec:
    """Read the tokenizer of a GGUF file, a HuggingFace tokenizer.json or a sentencepiece .model.

    Raises:
        BrokenFileError: If the file is none of these, or is damaged.
        UnsupportedError: If it is valid but of a kind that cannot be read, or that GGUF cannot express.
        TokverifyError: If there is no such file.
    """
    path = Path(path)
    kind = _kind(path)
    if kind not in READERS:
        raise UnsupportedError(f"{path}: a {kind} file can only be the reference (-r); give a file of another kind")
    return READERS[kind](path)


def _kind(path: Path) -> str:
    if path.suffix == ".gguf" or not path.is_file() or read_file(path, 4) == b"GGUF":
        return "gguf"
    try:
        return kind_of(path)
    except BrokenFileError:
        if path.suffix in _OTHER_SUFFIXES:
            raise
        # The reader of GGUF tells best what else a file may be.
        return "gguf"
