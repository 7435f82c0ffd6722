"""Merges that keep off the fixed tokens: learned pieces are put together without ever making one of those.

`int` is the integer type and nothing else; so `integer` must not be put together from `int` and what follows.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from tokverify.engine.models.cpp.spacing import CONTINUATION
from tokverify.engine.models.cpp.vocabulary import FIXED

Merge = tuple[str, str]

_FIXED = frozenset(FIXED)


def keep_off_fixed(merges: Iterable[Merge], room: int) -> tuple[list[Merge], list[str]]:
    """Return merges that make up to `room` new pieces, none of them fixed, and these pieces in order.

    A merge that makes a fixed piece is left out. What was to be put together from it is put together another way: from
    the pieces that all merges before it make of it.
    """
    kept = _Kept(room)
    for left, right in merges:
        piece = join(left, right)
        if piece in _FIXED or piece in kept.pieces:
            continue
        if kept.has(left):
            kept.add(left, right)
        else:
            kept.add_by_another_way(piece)
    return list(kept.ranks), list(kept.pieces)


def join(left: str, right: str) -> str:
    """Return the piece that two make."""
    return left + right.removeprefix(CONTINUATION)


class _Kept:
    """Merges by rank and the pieces they make, as long as there is room."""

    def __init__(self, room: int) -> None:
        self._room = room
        self.ranks: dict[Merge, int] = {}
        self.pieces: dict[str, None] = {}

    def has(self, left: str) -> bool:
        """Whether a piece that begins a merge can come about; one that ends it always can."""
        return len(left) == 1 or left.startswith(CONTINUATION) or left in self.pieces

    def add(self, left: str, right: str) -> None:
        """Add a merge, unless there is no room for its piece."""
        piece = join(left, right)
        if piece in self.pieces or len(self.pieces) < self._room:
            self.pieces[piece] = None
            self.ranks.setdefault((left, right), len(self.ranks))

    def add_by_another_way(self, piece: str) -> None:
        """Add merges that put a piece together from the left, but for where that would make a fixed piece."""
        symbols = self._joined([piece[0], *(CONTINUATION + character for character in piece[1:])])
        while len(symbols) > 1:
            at = int(join(*symbols[:2]) in _FIXED)
            self.add(*symbols[at : at + 2])
            symbols[at : at + 2] = [join(*symbols[at : at + 2])]

    def _joined(self, symbols: list[str]) -> list[str]:
        while True:
            known = [(self.ranks[pair], at) for at, pair in enumerate(pairwise(symbols)) if pair in self.ranks]
            if not known:
                return symbols
            _, at = min(known)
            symbols[at : at + 2] = [join(*symbols[at : at + 2])]
