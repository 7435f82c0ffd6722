"""Determine whether sums of scores are exact, so that the order of addition does not matter."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import repeat
from math import frexp, inf, isfinite, ldexp

SCORE_BITS, SUM_BITS = 24, 53
"""The precision of a score (`float`) and of a sum of scores (`double`)."""


class ScoreSums:
    """Knows the `limit` up to which sums of scores are exact, and estimates the magnitude of the sums of a text.

    All scores are multiples of one power of two. As long as no sum is too large to be represented as such a multiple,
    addition is exact, and which of two sums is greater does not depend on their common initial value. Beyond that,
    rounding can decide between sums that are nearly equal.
    """

    def __init__(self, scores: Mapping[str, float], unknown: float) -> None:
        all_scores = [*scores.values(), unknown]
        magnitudes = {abs(score) for score in all_scores if score}
        is_finite = all(map(isfinite, magnitudes))
        self.heaviest = max(magnitudes, default=0.0)
        """The largest magnitude of a score."""
        self.limit = _limit(min(magnitudes, default=1.0)) if is_finite else -1.0
        """The magnitude up to which sums are exact; negative if a score is not finite."""
        # The best sum is at least that of single symbols, and at most that of the best token for each symbol.
        highest = max(0.0, *all_scores) if is_finite else 0.0
        self._unknown = max(abs(unknown), highest)
        self._by_symbol = {piece: max(abs(score), highest) for piece, score in scores.items() if len(piece) == 1}
        most = max(self._unknown, *self._by_symbol.values(), 0.0)
        self.safe_length = (self.limit - self.heaviest) / most if most else inf
        """The number of symbols whose sum cannot exceed the limit, regardless of which symbols they are."""

    def bound(self, symbols: str) -> float:
        """Return the most that these symbols can add to the magnitude of the best sum."""
        return sum(map(self._by_symbol.get, symbols, repeat(self._unknown)))


def _limit(lightest: float) -> float:
    """Return the limit for the smallest magnitude of a score; one bit is reserved for computing the bounds."""
    return ldexp(1.0, frexp(lightest)[1] - SCORE_BITS + SUM_BITS - 1)
