"""The reference `gguf`: another GGUF file, which tokverify encodes as llama.cpp does."""

from __future__ import annotations

from pathlib import Path

from tokverify.engine.encoder import Encoder
from tokverify.location import Location
from tokverify.references.reference import FoundReference
from tokverify.sources.gguf.declaration import read_spec
from tokverify.sources.stores.location import find_model

CAVEAT = (
    "tokverify encodes both sides: agreement proves that the two files hold the same tokenizer, not that either is "
    "correct"
)


def load(place: Location | Path) -> FoundReference:
    """Read the GGUF file at a location, which may be a name such as `hf:org/name`.

    Raises:
        TokverifyError: If there is no such file. A subclass reports that it is broken or unsupported.
    """
    file = find_model(place)
    with file.named_in_errors():
        spec = read_spec(file.path)
    with file.prefixed_to_errors():
        encoder = Encoder(spec, file.name, in_background=True)
    return FoundReference(encoder, source=file.location, sha256=file.sha256, caveat=CAVEAT, path=file.path)
