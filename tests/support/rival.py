"""Pieces of which two joins compete, with another winner in one file than in another; made for the judge only."""

import random
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping

from tokverify.spec import TokenizerSpec

_WINDOW = 20
_MOST = 5_000
_LAST = 1e12

Joins = Mapping[tuple[str, str], float]
"""Two pieces -> how late they are joined."""


def rival_pieces(intact: TokenizerSpec, other: TokenizerSpec) -> list[tuple[str, ...]]:
    """Return pieces `P`, `Q` and `R` of which `PQ` is joined before `QR` in one file only."""
    right, wrong = _joins(intact), _joins(other)
    if right == wrong:
        return []
    rivals = [*_rivals(right), *_rivals(wrong)]
    chosen = sorted({(*first, second[1]) for first, second in rivals if _flips(first, second, right, wrong)})
    return random.Random(3).sample(chosen, min(len(chosen), _MOST))  # noqa: S311 - texts, not secrets


def _joins(spec: TokenizerSpec) -> Joins:
    if spec.merges:
        merges = [tuple(merge.rsplit(" ", 1)) for merge in spec.merges if " " in merge]
        return {(left, right): float(rank) for rank, (left, right) in reversed(list(enumerate(merges)))}
    scores = dict(zip(spec.tokens, spec.scores or (), strict=False))
    is_sum = spec.model == "t5"
    return {
        (piece[:at], piece[at:]): -score + (is_sum and scores[piece[:at]] + scores[piece[at:]])
        for piece, score in scores.items()
        for at in range(1, len(piece))
        if piece[:at] in scores and piece[at:] in scores
    }


def _rivals(joins: Joins) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    ending, starting = defaultdict(list), defaultdict(list)
    for join, late in joins.items():
        ending[join[1]].append((late, join))
        starting[join[0]].append((late, join))
    for middle in set(ending) & set(starting):
        seconds = sorted(starting[middle])
        for late, first in ending[middle]:
            at = bisect_left(seconds, (late,))
            for _, second in seconds[max(at - _WINDOW, 0) : at + _WINDOW]:
                yield first, second


def _flips(first: tuple[str, str], second: tuple[str, str], right: Joins, wrong: Joins) -> bool:
    return (right.get(first, _LAST) <= right.get(second, _LAST)) != (
        wrong.get(first, _LAST) <= wrong.get(second, _LAST)
    )
