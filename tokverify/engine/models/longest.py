"""Find the longest piece at a position in a text, as WordPiece and RWKV do at every step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from tokverify.engine.trace import RIVALS
from tokverify.report.explain import Attempt
from tokverify.text.utf8 import to_text

T = TypeVar("T", int, str)

HEAD = 4
"""The number of leading bytes by which longer pieces are indexed; with fewer, more lengths must be tried."""


class LongestPiece:
    """Looks up pieces by their bytes; no piece may be empty."""

    def __init__(self, ids: Mapping[bytes, int]) -> None:
        self._ids = ids
        self._lengths = lengths_by_first(ids)
        self._short_lengths = lengths_by_first(piece for piece in ids if len(piece) < HEAD)
        self._lengths_by_head = {
            head: lengths + self._short_lengths.get(head[0], []) for head, lengths in _lengths_by_head(ids).items()
        }

    def begins(self, byte: int) -> bool:
        """Check whether a piece begins with `byte`."""
        return byte in self._lengths

    def at(self, text: bytes, start: int) -> tuple[int, int] | None:
        """Return the id and the end of the longest piece at `start`; None if there is none."""
        room = len(text) - start
        lengths = self._lengths_by_head.get(text[start : start + HEAD]) or self._short_lengths.get(text[start])
        for length in lengths or ():
            if length <= room:
                id = self._ids.get(text[start : start + length])
                if id is not None:
                    return id, start + length
        return None

    def attempt(self, text: bytes, start: int) -> Attempt:
        """Search as `at` does, and record what was tried, except for ends inside a character."""
        found = self.at(text, start)
        end = start if found is None else found[1]
        ends = (start + length for length in self._lengths.get(text[start], ()))
        missing = [
            to_text(text[start:tried]) for tried in ends if end < tried <= len(text) and _is_boundary(text, tried)
        ]
        piece = None if found is None else to_text(text[start:end])
        return Attempt(start, piece, tuple(missing[:RIVALS]), max(0, len(missing) - RIVALS))


def _is_boundary(text: bytes, place: int) -> bool:
    return place == len(text) or text[place] & 0xC0 != 0x80  # noqa: PLR2004 - the bits of a byte inside a character


def _lengths_by_head(pieces: Iterable[bytes]) -> dict[bytes, list[int]]:
    """Map the first `HEAD` bytes of pieces to the lengths of these pieces, longest first."""
    lengths: dict[bytes, set[int]] = {}
    for piece in pieces:
        if len(piece) >= HEAD:
            lengths.setdefault(piece[:HEAD], set()).add(len(piece))
    return {head: sorted(sizes, reverse=True) for head, sizes in lengths.items()}


def lengths_by_first(pieces: Iterable[Sequence[T]]) -> dict[T, list[int]]:
    """Map each byte or character to the lengths of the pieces that begin with it, longest first."""
    lengths: dict[T, set[int]] = {}
    for piece in pieces:
        lengths.setdefault(piece[0], set()).add(len(piece))
    return {first: sorted(sizes, reverse=True) for first, sizes in lengths.items()}
