"""The vocabulary of a reference: the bytes of its tokens, and what can be said about how they are stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tokverify.engine.byte_level import from_byte_level
from tokverify.engine.special_text import BYTE_PIECE
from tokverify.errors import TokverifyError, UnsupportedError
from tokverify.text.utf8 import from_utf8
from tokverify.tokenizer import Tokenizer, pieces_of, why_hidden

BYTES = 256


@dataclass(frozen=True)
class Vocabulary:
    """The tokens of a reference, by id."""

    token_bytes: Sequence[bytes]
    """The bytes that each token represents; none for a token that is never rendered."""
    pieces: Sequence[str]
    """What the reference calls its stored strings; some references give the bytes as text instead."""
    texts: Sequence[str | None] = field(init=False)
    """The text of each token; None if it is not valid UTF-8, so that no text consists of it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "texts", [from_utf8(data) or None for data in self.token_bytes])

    @property
    def size(self) -> int:
        """The number of tokens."""
        return len(self.token_bytes)

    @cached_property
    def ids_of(self) -> dict[bytes, list[int]]:
        """The ids of the tokens that represent certain bytes; several tokens can represent the same ones."""
        ids: dict[bytes, list[int]] = {}
        for id, data in enumerate(self.token_bytes):
            ids.setdefault(data, []).append(id)
        return ids

    def bytes_of(self, ids: Iterable[int]) -> bytes:
        """Return what tokens represent together; an id that the reference uses but does not list adds nothing."""
        return b"".join(self.token_bytes[id] for id in ids if id < self.size)

    @cached_property
    def has_stored_strings(self) -> bool:
        """Whether `pieces` are stored strings: many differ from the bytes, as `Ġthe`, `▁the` and `<0x0A>` do."""
        pairs = zip(self.pieces, self.token_bytes, strict=True)
        respelled = Counter(_spelling(piece, data) for piece, data in pairs if data)
        del respelled["text"]
        return bool(respelled) and respelled.most_common(1)[0][0] != "other"


def _spelling(piece: str, data: bytes) -> str:
    """Name the way in which a piece is written."""
    if piece.encode("utf-8", "surrogateescape") == data:
        return "text"
    if BYTE_PIECE.fullmatch(piece) or piece.replace("▁", " ").encode("utf-8", "surrogateescape") == data:
        return "escaped"
    return "byte level" if from_byte_level(piece) == data else "other"


def find_byte_run(token_bytes: Sequence[bytes]) -> int | None:
    """Return the first of 256 consecutive ids that represent the bytes in order."""
    run = [bytes([value]) for value in range(BYTES)]
    starts = (id for id, data in enumerate(token_bytes) if data == run[0])
    return next((start for start in starts if list(token_bytes[start : start + BYTES]) == run), None)


def read_vocabulary(tokenizer: Tokenizer, stored: Sequence[str] | None = None) -> Vocabulary:
    """Ask a tokenizer for the bytes of all its tokens, and for its stored strings unless they are given.

    Raises:
        UnsupportedError: If the tokenizer does not list its tokens.
        TokverifyError: If the number of stored strings is not that of the tokens.
    """
    if hidden := why_hidden(tokenizer):
        raise UnsupportedError(f"{hidden}, without which its ids tell nothing about them; name a reference that does")
    ids = range(tokenizer.vocab_size)
    if stored is not None and len(stored) != len(ids):
        raise TokverifyError(
            f"the vocabulary has {len(stored):,} tokens and the reference {len(ids):,}; name the file it belongs to"
        )
    return Vocabulary(list(map(tokenizer.token_bytes, ids)), pieces_of(tokenizer) if stored is None else stored)
