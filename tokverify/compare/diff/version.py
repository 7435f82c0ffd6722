"""One version of a tokenizer, as far as it can be read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tokverify.engine.encoder import Encoder
from tokverify.report.run import Side
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
    """Why `spec` is None."""
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
        return self.is_gguf or (self.spec is not None and "eos" in self.spec.valid_special_ids)

    def count_embeddings(self) -> int | None:
        """Return how many tokens the model has embeddings for; None if no file says so.

        Raises:
            BrokenFileError: If the config.json beside it cannot be read.
        """
        if self.is_gguf:
            return self.tokenizer.vocab_size
        return None if self.path is None else embedding_count(self.path)


def unnamed_roles(old: Version, new: Version) -> tuple[str, ...]:
    """Return the special tokens that a GGUF file declares, and the other version, in another format, does not name."""
    if old.is_gguf == new.is_gguf or old.spec is None or new.spec is None:
        return ()
    declared, other = (old.spec, new.spec) if old.is_gguf else (new.spec, old.spec)
    return tuple(role for role in declared.special_ids if role not in other.special_ids)
