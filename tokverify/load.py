"""Load the tokenizer of a GGUF file."""

from __future__ import annotations

from pathlib import Path

from tokverify.encoder import Encoder
from tokverify.gguf_file import read_spec


def load_gguf(path: Path | str) -> Encoder:
    """Read a GGUF file's tokenizer and return its encoder, named after the file.

    Raises:
        TokverifyError: If there is no such file; a subclass says that it is broken, or of a kind tokverify lacks.
    """
    return Encoder(read_spec(path), Path(path).stem)
