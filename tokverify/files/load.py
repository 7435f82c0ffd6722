"""Load a tokenizer from a file and return its encoder."""

from __future__ import annotations

from pathlib import Path

from tokverify.engine.encoder import Encoder
from tokverify.files import tokenizer_file
from tokverify.files.gguf import declaration as gguf_file


def load_gguf(path: Path | str) -> Encoder:
    """Read a GGUF file's tokenizer and return its encoder, named after the file.

    Raises:
        TokverifyError: If there is no such file; a subclass says that it is broken, or of a kind tokverify lacks.
    """
    return Encoder(gguf_file.read_spec(path), Path(path).stem)


def load_model(path: Path | str) -> Encoder:
    """Read the tokenizer of a GGUF file, a tokenizer.json, a sentencepiece .model or FILE.tiktoken:PATTERN.

    Whatever is no GGUF file is encoded as llama.cpp would, from a GGUF file that says the same.

    Raises:
        TokverifyError: As for `load_gguf`; a part of the tokenizer that GGUF cannot express is unsupported.
    """
    return Encoder(tokenizer_file.read_spec(path), Path(path).stem)
