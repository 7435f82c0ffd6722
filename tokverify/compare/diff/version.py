"""One version of a tokenizer, as far as it can be read."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from tokverify.engine.encoder import Encoder
from tokverify.report.side import Side
from tokverify.sources.config import embedding_count
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
    """What `spec` leaves out, or why it is None."""
    path: Path | None = None
    """The file it was read from, if any."""
    file: str = ""
    """The same file as the user names it, without a revision."""

    @property
    def is_gguf(self) -> bool:
        """Whether it is a GGUF file, so that llama.cpp's defaults apply to what it does not declare."""
        return isinstance(self.tokenizer, Encoder)

    @property
    def names_end(self) -> bool:
        """Whether it declares what ends a generation, or llama.cpp's default applies."""
        return self.is_gguf or "eos" in self.named_roles

    @property
    def named_roles(self) -> Collection[str]:
        """The roles of special tokens that it names."""
        return (self.spec.valid_special_ids if self.spec else self.tokenizer.special_ids).keys()

    def count_embeddings(self) -> int | None:
        """Return how many tokens the model has embeddings for; None if no file says so.

        Raises:
            BrokenFileError: If the config.json beside it cannot be read.
        """
        if self.is_gguf:
            return self.tokenizer.vocab_size
        return None if self.path is None else embedding_count(self.path)


def naming_side(old: Version, new: Version) -> Version | None:
    """Return the version that declares what the format or the files of the other one leave open; None if there is none.

    That is a GGUF file, or else the only one that names an end, which a tokenizer.json does by the files beside it.
    """
    if old.is_gguf != new.is_gguf:
        return old if old.is_gguf else new
    if old.names_end != new.names_end:
        return old if old.names_end else new
    return None


def unnamed_roles(old: Version, new: Version) -> tuple[str, ...]:
    """Return the special tokens that only the naming side names."""
    naming = naming_side(old, new)
    if naming is None:
        return ()
    other = new if naming is old else old
    return tuple(role for role in naming.named_roles if role not in other.named_roles)
