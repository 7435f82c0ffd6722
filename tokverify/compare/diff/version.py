"""One version of a tokenizer, as far as it can be read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tokverify.engine.encoder import Encoder
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

    @property
    def is_gguf(self) -> bool:
        """Whether it is a GGUF file, so that llama.cpp's defaults apply to what it does not declare."""
        return isinstance(self.tokenizer, Encoder)


def unnamed_roles(old: Version, new: Version) -> tuple[str, ...]:
    """Return the special tokens that a GGUF file declares, and the other version, in another format, does not name."""
    if old.is_gguf == new.is_gguf or old.spec is None or new.spec is None:
        return ()
    declared, other = (old.spec, new.spec) if old.is_gguf else (new.spec, old.spec)
    return tuple(role for role in declared.special_ids if role not in other.special_ids)
