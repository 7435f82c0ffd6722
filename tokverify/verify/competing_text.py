"""Make texts that show in which order a tokenizer joins pieces.

A score or a merge that is a little wrong changes no token's own text. It shows only where two joins compete for the
same piece: in `P Q R`, where `PQ` and `QR` are both tokens, the one that ranks higher is made.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from heapq import nsmallest
from typing import TYPE_CHECKING, NamedTuple

from tokverify.engine.family import Ranking
from tokverify.text.utf8 import from_utf8

if TYPE_CHECKING:
    from tokverify.engine.encoder import Encoder
    from tokverify.spec import TokenizerSpec

MOST = 20_000
"""At most this many texts are made."""
_LONGEST = 100
"""Longer pieces, in characters, are left out: all ways to divide a piece take quadratic time."""
_WINDOW = 40
"""How many competitors are tried on either side of a join that has another rank."""
_LAST = float("inf")


class _Join(NamedTuple):
    """Two neighboring pieces that are joined."""

    left: str
    right: str


class _Ranks(NamedTuple):
    """How early a join is made, in competition for its right and for its left piece; the smallest rank comes first."""

    by_right: float
    by_left: float


_NEVER = _Ranks(_LAST, _LAST)


class _Competition(NamedTuple):
    """Two joins that need the same piece."""

    gap: float
    """How far apart their ranks are."""
    first: _Join
    second: _Join

    @property
    def pieces(self) -> tuple[str, str, str]:
        return (*self.first, self.second.right)


def competing_texts(actual: Encoder, declared: TokenizerSpec | None) -> list[str]:
    """Return texts whose ids depend on the order of joins.

    Args:
        actual: Our tokenizer.
        declared: What the reference declares. If it ranks tokens as ours does, only competitions with another winner
            are returned; without it, those that are won most narrowly.
    """
    ranking = actual.settings.family.ranking
    if declared and _ranked(declared, ranking) == _ranked(actual.spec, ranking):
        return []
    ours = _joins(actual.spec, ranking)
    theirs = _joins(declared, ranking) if declared else {}
    found = list(_flipped(ours, theirs)) if theirs else _Competitors(ours).of(ours)
    texts = (_text(one.pieces, actual) for one in nsmallest(MOST, found))
    return list(dict.fromkeys(filter(None, texts)))


def _flipped(ours: Mapping[_Join, _Ranks], theirs: Mapping[_Join, _Ranks]) -> Iterator[_Competition]:
    """Yield competitions with another winner.

    Not every one changes ids, as other joins may come first, so more are made with the joins that have another rank.
    """
    competitors = _Competitors(theirs)
    closest = [one for one in competitors.of(theirs) if _has_other_winner(one, ours, theirs)]
    yield from closest
    moved = {join for one in closest for join in (one.first, one.second)}
    if len(closest) < MOST:
        others = competitors.of(moved, _WINDOW)
        yield from (one for one in others if _has_other_winner(one, ours, theirs))


def _ranked(spec: TokenizerSpec, ranking: Ranking) -> tuple[Sequence[object], ...]:
    """Return the arrays that decide the order of joins."""
    if ranking is Ranking.MERGE_RANK:
        return (list(spec.merges or ()),)
    return (list(spec.tokens), list(spec.scores or ()), list(spec.merges or ()))


def _joins(spec: TokenizerSpec, ranking: Ranking) -> Mapping[_Join, _Ranks]:
    if ranking is Ranking.MERGE_RANK:
        return _joins_of_merges(spec.merges or ())
    if not ranking.uses_scores:
        return {}
    scores = _scores(spec)
    return _joins_of_scores(scores, is_sum=ranking is Ranking.SCORE_SUM)


def _joins_of_merges(merges: Sequence[str]) -> Mapping[_Join, _Ranks]:
    joins: dict[_Join, _Ranks] = {}
    for rank, merge in enumerate(merges):
        left, _, right = merge.partition(" ")
        joins.setdefault(_Join(left, right), _Ranks(rank, rank))
    return joins


def _scores(spec: TokenizerSpec) -> Mapping[str, float]:
    """Return the score of each piece; without scores, the ranks of the merges decide."""
    if spec.scores is not None:
        return dict(zip(spec.tokens, spec.scores, strict=False))
    scores = dict.fromkeys(spec.tokens, 0.0)
    made = dict.fromkeys(merge[:1] + merge[1:].replace(" ", "", 1) for merge in spec.merges or ())
    return scores | {piece: -float(rank) for rank, piece in enumerate(made)} if made else {}


def _joins_of_scores(scores: Mapping[str, float], *, is_sum: bool) -> Mapping[_Join, _Ranks]:
    """Return the joins of all pieces; if sums decide, a join ranks by what it adds to the scores of its parts."""
    joins: dict[_Join, _Ranks] = {}
    for piece, score in scores.items():
        for at in range(1, len(piece) if len(piece) <= _LONGEST else 1):
            join = _Join(piece[:at], piece[at:])
            left, right = scores.get(join.left), scores.get(join.right)
            if left is not None and right is not None:
                joins[join] = _Ranks(left - score, right - score) if is_sum else _Ranks(-score, -score)
    return joins


class _Competitors:
    """The joins that need the same piece as another one, by rank."""

    def __init__(self, joins: Mapping[_Join, _Ranks]) -> None:
        self._joins = joins
        self._ending: dict[str, list[tuple[float, _Join]]] = defaultdict(list)
        self._starting: dict[str, list[tuple[float, _Join]]] = defaultdict(list)
        for join, ranks in joins.items():
            self._ending[join.right].append((ranks.by_right, join))
            self._starting[join.left].append((ranks.by_left, join))
        for competitors in (*self._ending.values(), *self._starting.values()):
            competitors.sort()

    def of(self, chosen: Collection[_Join], window: int = 1) -> Iterator[_Competition]:
        """Yield the competitions of some joins with those that rank closest, at most `window` before and after each."""
        for join in chosen:
            rank = self._joins[join]
            for other, second in _closest(self._starting.get(join.right, ()), rank.by_right, window):
                yield _Competition(abs(rank.by_right - other), join, second)
            for other, first in _closest(self._ending.get(join.left, ()), rank.by_left, window):
                yield _Competition(abs(rank.by_left - other), first, join)


def _closest(ranked: Sequence[tuple[float, _Join]], rank: float, window: int) -> Sequence[tuple[float, _Join]]:
    at = bisect_left(ranked, (rank,))
    return ranked[max(at - window, 0) : at + window]


def _has_other_winner(one: _Competition, ours: Mapping[_Join, _Ranks], theirs: Mapping[_Join, _Ranks]) -> bool:
    return _left_wins(one, ours) != _left_wins(one, theirs)


def _left_wins(one: _Competition, joins: Mapping[_Join, _Ranks]) -> bool:
    """Whether the first of two joins is made; of equal ones, the left one is."""
    return joins.get(one.first, _NEVER).by_right <= joins.get(one.second, _NEVER).by_left


def _text(pieces: tuple[str, ...], actual: Encoder) -> str | None:
    ids = actual.settings.ids
    if not all(piece in ids for piece in pieces):
        return None
    return from_utf8(b"".join(actual.token_bytes(ids[piece]) for piece in pieces))
