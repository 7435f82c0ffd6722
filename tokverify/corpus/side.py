"""Side: what the ids of one tokenizer are compared by when a difference is classified."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import TypeVar

from tokverify.errors import TokverifyError
from tokverify.tokenizer import MatchListing, Tokenizer

_BYTE_PIECE = re.compile("<0x[0-9A-Fa-f]{2}>")

_Value = TypeVar("_Value")


class _Lookup(dict[int, _Value]):
    """Remembers what a function returns for each id, because documents repeat few ids very often."""

    def __init__(self, find: Callable[[int], _Value]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, id: int) -> _Value:
        value = self[id] = self._find(id)
        return value

    def each(self, ids: Iterable[int]) -> Iterable[_Value]:
        return map(self.__getitem__, ids)


class Side:
    """Describes lists of ids of one tokenizer.

    Args:
        tokenizer: The tokenizer.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.unknown = tokenizer.special_ids.get("unk")
        self._added = _added_ids(tokenizer) - {-1 if self.unknown is None else self.unknown}
        self._bytes = _Lookup(self._find_bytes)
        self._is_byte = _Lookup(lambda id: _BYTE_PIECE.fullmatch(tokenizer.piece(id)) is not None)

    def _find_bytes(self, id: int) -> bytes:
        return self.tokenizer.token_bytes(id) if id < self.tokenizer.vocab_size else b""

    def added(self, ids: Sequence[int]) -> set[str]:
        """Return the stored strings of the added tokens among ids."""
        if self._added.isdisjoint(ids):
            return set()
        return {self.tokenizer.piece(id) for id in self._added.intersection(ids)}

    def has_byte_piece(self, ids: Sequence[int]) -> bool:
        """Check whether any id stands for a single byte."""
        return any(self._is_byte.each(ids))

    def pieces(self, ids: Sequence[int]) -> list[bytes]:
        """Return the bytes that each id represents; none for an id outside the vocabulary."""
        return list(self._bytes.each(ids))

    def content(self, ids: Sequence[int]) -> bytes:
        """Return the bytes that ids represent together."""
        return b"".join(self._bytes.each(ids))

    def ends(self, ids: Sequence[int]) -> list[int]:
        """Return where each id ends in the text, in bytes."""
        return list(accumulate(map(len, self._bytes.each(ids))))


def _added_ids(tokenizer: Tokenizer) -> set[int]:
    try:
        added = tokenizer.added_tokens() if isinstance(tokenizer, MatchListing) else ()
    except TokverifyError:
        added = ()
    return {*added, *tokenizer.special_ids.values()}
