"""How far sums of scores are exact, so that it does not matter where they began."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import repeat
from math import frexp, inf, isfinite, ldexp

SCORE_BITS, SUM_BITS = 24, 53
"""The precision of a score (`float`) and of a sum of scores (`double`)."""


class ScoreSums:
    """Knows up to which `limit` sums of scores are exact, and estimates how large those of a text become.

    All scores are multiples of one power of two. As long as no sum is too large to be held as such a multiple too,
    adding is exact, and which of two sums is greater does not depend on what both began with. Past that, rounding can
    decide between sums that are nearly equal. The limit is below zero if some score is not finite. `heaviest` is the
    largest magnitude of a score. `safe_length` is how many symbols cannot exceed the limit, whatever they are.
    """

    def __init__(self, scores: Mapping[str, float], unknown: float) -> None:
        all_scores = [*scores.values(), unknown]
        magnitudes = {abs(score) for score in all_scores if score}
        is_finite = all(map(isfinite, magnitudes))
        self.heaviest = max(magnitudes, default=0.0)
        self.limit = _limit(min(magnitudes, default=1.0)) if is_finite else -1.0
        # The best sum is at least that of single symbols, and at most as if each symbol were the best token.
        highest = max(0.0, *all_scores) if is_finite else 0.0
        self._unknown = max(abs(unknown), highest)
        self._by_symbol = {piece: max(abs(score), highest) for piece, score in scores.items() if len(piece) == 1}
        most = max(self._unknown, *self._by_symbol.values(), 0.0)
        self.safe_length = (self.limit - self.heaviest) / most if most else inf

    def bound(self, symbols: str) -> float:
        """Return what these symbols can add to the magnitude of the best sum."""
        return sum(map(self._by_symbol.get, symbols, repeat(self._unknown)))


def _limit(lightest: float) -> float:
    """Return the limit, given the least magnitude of a score; one bit is kept in reserve for the bounds themselves."""
    return ldexp(1.0, frexp(lightest)[1] - SCORE_BITS + SUM_BITS - 1)
