"""The arguments of a reference's loader, and its result."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.errors import EncodeError
from tokverify.location import Location
from tokverify.spec import TokenizerSpec
from tokverify.system.library_error import summary
from tokverify.text.utf8 import to_utf8
from tokverify.text.wording import truncate
from tokverify.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokverify.engine.family import Settings

_MAX_NAME = 200


@dataclass(frozen=True, slots=True)
class Request:
    """The arguments of a loader: where the reference is, and the GGUF file that is verified."""

    location: Location
    """What follows `KIND:`, or the whole location if its kind was recognized."""
    spec: TokenizerSpec | None = None
    """The GGUF file's tokenizer."""
    settings: Settings | None = None
    """Its effective settings."""
    model: Path | None = None
    """The GGUF file."""


@dataclass(frozen=True, slots=True)
class FoundReference:
    """A reference and its provenance."""

    tokenizer: Tokenizer
    source: str
    """Where it comes from: a path, `org/name@commit`, or the name of its kind."""
    reason: str = "as requested"
    """Why it was chosen, and what was tried before."""
    caveat: str = ""
    """What agreement with it cannot prove."""
    sha256: str | None = None
    """The hash of the file that it was read from."""
    path: Path | None = None
    """That file."""
    directory: Path | None = None
    """The directory of what a library in another process has read."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Library -> version, for the libraries that do the work."""
    reads_model: bool = False
    """Whether it reads the GGUF file that is verified, so that it cannot show what that file should contain."""
    build: int | None = None
    """The build of llama.cpp that it is, if it is llama.cpp and that is known."""
    is_rebuilt: bool = False
    """Whether it was made from the data of the GGUF file itself, so that it cannot contradict that data."""

    @property
    def home(self) -> Path | None:
        """The directory of its files, in which there may be others of the same tokenizer."""
        return self.path.parent if self.path else self.directory

    @classmethod
    def of_file(
        cls, tokenizer: Tokenizer, path: Path, data: bytes, *, versions: Mapping[str, str], caveat: str = ""
    ) -> FoundReference:
        """Return a reference that was read from the content of a file; others beside it belong to it."""
        digest = hashlib.sha256(data).hexdigest()
        return cls(tokenizer, source=str(path), caveat=caveat, sha256=digest, path=path, versions=versions)


def shown_name(name: object, otherwise: str) -> str:
    """Return what a server or a program calls itself on one short line, or `otherwise` if that is no text."""
    if not isinstance(name, str) or not name.strip():
        return otherwise
    # One character more shows that there are more.
    return truncate(summary(ValueError(name.strip()[: _MAX_NAME + 1])), _MAX_NAME)


def find_problem(text: str) -> EncodeError | None:
    """Return why a text cannot be sent, if it cannot."""
    try:
        to_utf8(text)
    except EncodeError as error:
        return error
    return None


def find_unknown(ids: Sequence[int], vocab_size: int, name: str) -> EncodeError | None:
    """Return why ids cannot be decoded by the tokenizer called `name`, if one is outside of its vocabulary."""
    unknown = next((id for id in ids if not 0 <= id < vocab_size), None)
    return None if unknown is None else EncodeError(f"{name} has no token with the id {unknown}")
