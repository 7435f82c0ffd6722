"""Load a tokenizer file as an encoder."""

from __future__ import annotations

from pathlib import Path

from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import require_requested
from tokverify.sources import tokenizer_file
from tokverify.sources.gguf.declaration import read_spec
from tokverify.spec import TokenizerSpec


def load_gguf(path: Path | str) -> Encoder:
    """Read a GGUF file and return its encoder, named after the file.

    Raises:
        TokverifyError: If the file does not exist; a subclass if it is broken or not supported.
    """
    return _encoder(read_spec(path), path)


def load_model(path: Path | str) -> Encoder:
    """Read a GGUF file, a tokenizer.json, a sentencepiece .model or FILE.tiktoken:PATTERN.

    A file of another format is encoded as llama.cpp would encode with the equivalent GGUF file.

    Raises:
        TokverifyError: As for `load_gguf`; UnsupportedError if GGUF cannot express a part of the tokenizer.
    """
    return _encoder(tokenizer_file.read_spec(path), path)


def _encoder(spec: TokenizerSpec, path: Path | str) -> Encoder:
    encoder = Encoder(spec, Path(path).stem)
    require_requested(encoder.engine)
    return encoder
