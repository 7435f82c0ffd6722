"""The reference `gguf`: another GGUF file, which tokverify encodes as llama.cpp does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.engine.encoder import Encoder
from tokverify.files.gguf.declaration import read_spec
from tokverify.references.reference import FoundReference

if TYPE_CHECKING:
    from tokverify.references.reference import Request

CAVEAT = (
    "tokverify encodes both sides: agreement proves that the two files hold the same tokenizer, not that either is "
    "correct"
)


def load(request: Request) -> FoundReference:
    """Read the GGUF file at the request's location.

    Raises:
        TokverifyError: If there is no such file. A subclass reports that it is broken or unsupported.
    """
    path = Path(request.location)
    return FoundReference(Encoder(read_spec(path), path.stem), source=str(path), caveat=CAVEAT, path=path)
