"""Avoid fixed tokens in merges: no learned piece is built from one of them.

`int` always represents the integer type, so `integer` must not be built from `int` and the rest of the word.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from tokverify.engine.models.cpp.vocabulary import CONTINUATION, FIXED

Merge = tuple[str, str]

_FIXED = frozenset(FIXED)


def avoid_fixed(merges: Iterable[Merge], room: int) -> tuple[list[Merge], list[str]]:
    """Return merges that produce up to `room` new pieces, none of them fixed, and these pieces in order.

    A merge that makes a fixed piece is dropped. A piece that would have been built from it is built in another way:
    from the pieces that all earlier merges produce for it.
    """
    kept = _Kept(room)
    for left, right in merges:
        piece = join(left, right)
        if piece in _FIXED or piece in kept.pieces:
            continue
        if kept.has(left):
            kept.add(left, right)
        else:
            kept.add_detour(piece)
    return list(kept.ranks), list(kept.pieces)


def join(left: str, right: str) -> str:
    """Return the piece that two pieces make."""
    return left + right.removeprefix(CONTINUATION)


class _Kept:
    """The merges that are kept, by rank, and the pieces they make, as long as there is room."""

    def __init__(self, room: int) -> None:
        self._room = room
        self.ranks: dict[Merge, int] = {}
        self.pieces: dict[str, None] = {}

    def has(self, left: str) -> bool:
        """Whether the first piece of a merge can occur; the second one always can."""
        return len(left) == 1 or left.startswith(CONTINUATION) or left in self.pieces

    def add(self, left: str, right: str) -> None:
        """Add a merge, unless there is no room for its piece."""
        piece = join(left, right)
        if piece in self.pieces or len(self.pieces) < self._room:
            self.pieces[piece] = None
            self.ranks.setdefault((left, right), len(self.ranks))

    def add_detour(self, piece: str) -> None:
        """Add merges that build a piece from the left, except where that would make a fixed piece."""
        symbols = self._apply([piece[0], *(CONTINUATION + character for character in piece[1:])])
        while len(symbols) > 1:
            at = int(join(*symbols[:2]) in _FIXED)
            self.add(*symbols[at : at + 2])
            symbols[at : at + 2] = [join(*symbols[at : at + 2])]

    def _apply(self, symbols: list[str]) -> list[str]:
        while True:
            known = [(self.ranks[pair], at) for at, pair in enumerate(pairwise(symbols)) if pair in self.ranks]
            if not known:
                return symbols
            _, at = min(known)
            symbols[at : at + 2] = [join(*symbols[at : at + 2])]
