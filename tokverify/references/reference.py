"""What is asked of a kind of reference, and what it hands back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokverify.engine.settings import Settings
    from tokverify.spec import TokenizerSpec
    from tokverify.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Request:
    """Where a reference is, and for the kinds made from the GGUF file: that file, its spec and its settings."""

    location: str
    spec: TokenizerSpec | None = None
    settings: Settings | None = None
    model: Path | None = None


@dataclass(frozen=True, slots=True)
class FoundReference:
    """A reference and its provenance.

    `source` is a path, `org/name@commit` or `rebuilt`; `reason` says why this one was taken and what was tried
    before it, `caveat` what agreement with it cannot prove. `sha256` is that of the file it was read from.
    `path` is that file, where it is one. `versions` names the libraries that do the work.
    """

    tokenizer: Tokenizer
    source: str
    reason: str = "as asked"
    caveat: str = ""
    sha256: str | None = None
    path: Path | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
