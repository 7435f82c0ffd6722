"""Make texts that a model which adds scores may divide in two ways, if their sums are nearly the same.

In `AB`, where `A` and `B` are tokens, another token may begin inside `A` and end inside `B` or with it. What is left of
`A` and `B` must be tokens, too, but not the piece that the three have in common. If all scores are lowered by the same
amount, that shows only where fewer tokens compete with more.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from heapq import nsmallest
from typing import NamedTuple, TypeAlias

from tokverify.text.sequence import thin_out

MOST = 20_000
"""At most this many texts are made."""
_LONGEST = 16
"""Longer pieces, in characters, are left out."""
_MIDDLE = 20_000
"""At most this many pieces are tried in the middle; of more, an even sample."""
_OUTER = 60_000
"""At most this many pieces are tried around them."""
_WINDOW, _WORK = 8, 200_000
"""How many of the pieces that end with the same characters are tried; more, if a vocabulary is small."""

_Losses: TypeAlias = list[tuple[float, str]]
"""Pieces, and how much the sum grows if only the part of a piece that is left counts."""
Scores: TypeAlias = Mapping[str, float]


class _Division(NamedTuple):
    """A text that can be divided in two ways."""

    margin: float
    """How far apart the sums are."""
    two: tuple[str, str]
    other: tuple[str, ...]

    def prefers_other(self, scores: Scores) -> bool:
        """Whether the other way has the higher sum."""
        sums = [sum(scores.get(piece, float("-inf")) for piece in pieces) for pieces in (self.two, self.other)]
        return sums[1] > sums[0]


def close_divisions(ours: Scores, theirs: Scores | None) -> list[tuple[str, str]]:
    """Return pairs of pieces for whose text other pieces have nearly the same sum of scores, at most `MOST`.

    Args:
        ours: The scores of a tokenizer, by piece.
        theirs: Those of the reference, if it declares any; then only texts count that the two divide differently.
    """
    if not theirs:
        return [one.two for one in nsmallest(MOST, _Divisions(ours, frozenset()).find())]
    moved = frozenset(piece for piece, score in theirs.items() if ours.get(piece) != score)
    found = _Divisions(theirs, moved).find()
    return [one.two for one in nsmallest(MOST, (one for one in found if _is_flipped(one, ours, theirs)))]


def _is_flipped(one: _Division, ours: Scores, theirs: Scores) -> bool:
    return one.prefers_other(ours) != one.prefers_other(theirs)


class _Divisions:
    """Finds the divisions whose sums are closest for each piece in the middle, and each way to cut it.

    Args:
        scores: The scores, by piece.
        moved: The pieces to try in any case.
    """

    def __init__(self, scores: Scores, moved: frozenset[str]) -> None:
        self._scores = scores
        self._moved = moved
        self._window = max(_WINDOW, _WORK // max(len(scores), 1))
        self._ending: dict[str, _Losses] = defaultdict(list)
        self._starting: dict[str, _Losses] = defaultdict(list)
        for piece, left, right in _cuts(self._sample(_OUTER)):
            if left in scores:
                self._ending[right].append((scores[left] - scores[piece], piece))
            if right in scores:
                self._starting[left].append((scores[right] - scores[piece], piece))
        for piece in self._sample(_OUTER):
            self._starting[piece].append((-scores[piece], piece))
        for pieces in (*self._ending.values(), *self._starting.values()):
            pieces.sort()

    def _sample(self, most: int) -> Sequence[str]:
        """Return at most that many pieces, and as many of those to try in any case."""
        return list(dict.fromkeys([*thin_out(list(self._scores), most), *thin_out(sorted(self._moved), most)]))

    def find(self) -> Iterator[_Division]:
        """Yield the divisions."""
        for middle, left, right in _cuts(self._sample(_MIDDLE)):
            firsts, seconds = self._ending.get(left, []), self._starting.get(right, [])
            if not firsts or not seconds:
                continue
            for first in self._choose(firsts):
                for second in self._closest(seconds, -first[0] - self._scores[middle]):
                    yield self._division(first, second, middle, (left, right))
            for second in self._choose_moved(seconds):
                for first in self._closest(firsts, -second[0] - self._scores[middle]):
                    yield self._division(first, second, middle, (left, right))

    def _choose(self, pieces: _Losses) -> Sequence[tuple[float, str]]:
        return [*self._choose_moved(pieces), *thin_out(pieces, self._window)]

    def _choose_moved(self, pieces: _Losses) -> Sequence[tuple[float, str]]:
        moved = [one for one in pieces if one[1] in self._moved] if self._moved else []
        return thin_out(moved, self._window)

    def _closest(self, pieces: _Losses, wanted: float) -> Sequence[tuple[float, str]]:
        at, near = bisect_left(pieces, (wanted,)), max(self._window // _WINDOW, 1)
        return pieces[max(at - near, 0) : at + near]

    def _division(
        self, first: tuple[float, str], second: tuple[float, str], middle: str, cut: tuple[str, str]
    ) -> _Division:
        around = (first[1].removesuffix(cut[0]), middle, second[1].removeprefix(cut[1]))
        margin = abs(first[0] + self._scores[middle] + second[0])
        return _Division(margin, (first[1], second[1]), tuple(filter(None, around)))


def _cuts(pieces: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield each piece with its parts before and after each place inside it."""
    for piece in pieces:
        for at in range(1, len(piece) if len(piece) <= _LONGEST else 1):
            yield piece, piece[:at], piece[at:]
