"""One version of a tokenizer, as far as it can be read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokverify.report.run import Side
    from tokverify.spec import TokenizerSpec
    from tokverify.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a tokenizer."""

    tokenizer: Tokenizer
    side: Side
    spec: TokenizerSpec | None
    """What it declares, as a GGUF file would; None if that is unknown."""
    unread: str = ""
    """Why `spec` is None."""
    path: Path | None = None
    """The file it was read from, if any."""
    file: str = ""
    """The same file as the user names it, without a revision."""
