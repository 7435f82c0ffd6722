"""Make texts that show in which order a tokenizer joins pieces.

A score or a merge that is a little wrong changes no token's own text. It shows only where two joins compete for the
same piece: in `P Q R`, where `PQ` and `QR` are both tokens, the one that ranks higher is made.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from heapq import nsmallest
from itertools import chain
from string import punctuation
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from tokverify.engine.family import Ranking
from tokverify.spec import TokenizerSpec, pieces_made_by
from tokverify.text.sequence import thin_out
from tokverify.text.utf8 import from_utf8

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tokverify.engine.encoder import Encoder

_MOST = 20_000
"""At most this many texts are made."""
_FEW = 100
"""Pieces can be compared with so many others at once."""
_LONGEST = 100
"""Longer pieces, in characters, are left out: all ways to divide a piece take quadratic time."""
_WINDOW = 8
"""How many competitors are tried on either side of a join that has another rank."""
_LAST = float("inf")
_Pieces: TypeAlias = tuple[str, str, str]
"""Three neighboring pieces; the one in the middle can be joined to either of the others."""
_LONGEST_DIVIDED = 16
"""Longer pieces, in characters, are left out."""
_MIDDLE = 20_000
"""At most this many pieces are tried in the middle; of more, an even sample."""
_OUTER = 60_000
"""At most this many pieces are tried around them."""
_DIVISIONS, _WORK = 8, 200_000
"""How many of the pieces that end with the same characters are tried; more, if a vocabulary is small."""
_Losses: TypeAlias = list[tuple[float, str]]
"""Pieces, and how much the sum grows if only the part of a piece that is left counts."""
Scores: TypeAlias = Mapping[str, float]


class _Join(NamedTuple):
    """Two neighboring pieces that are joined."""

    left: str
    right: str

    @property
    def piece(self) -> str:
        """What they become."""
        return self.left + self.right


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
    def pieces(self) -> _Pieces:
        return (*self.first, self.second.right)


class CompetingTexts:
    """Makes texts whose ids depend on the order of joins. What several tokenizers have in common is computed once.

    Args:
        declared: What the reference declares. If it ranks tokens as the tokenizer under test does, only competitions
            with another winner count; without it, those that are won most narrowly.
    """

    def __init__(self, declared: TokenizerSpec | None) -> None:
        self._declared = declared
        self._theirs: dict[Ranking, _Competitors] = {}
        self._last: tuple[TokenizerSpec | None, Sequence[tuple[str, ...]]] = (None, ())
        """The tokenizer that was looked at last, and what competes in it."""

    def make(self, actual: Encoder) -> list[str]:
        """Return the texts for one tokenizer, at most `_MOST`, and those it divides narrowly if scores are added."""
        last, pieces = self._last
        if last is None or not rank_alike(last, actual.spec):
            pieces = self._find(actual.spec, actual.settings.family.ranking)
            self._last = (actual.spec, pieces)
        return _texts(pieces, actual)

    def make_around(self, actual: Encoder, moved: Collection[str]) -> list[str]:
        """Return the texts in which joins that make one of the moved pieces compete with others, at most `_MOST`."""
        ranking = actual.settings.family.ranking
        if self._declared is None:
            return []
        ours, theirs = (_joins_around(spec, ranking, moved) for spec in (actual.spec, self._declared))
        found = chain(_flipped_around(ours, theirs, moved), _flipped_around(theirs, ours, moved))
        return _texts((one.pieces for one in nsmallest(_MOST, found)), actual)

    def make_delayed(self, actual: Encoder, moved: Collection[str]) -> list[str]:
        """Return the texts in which something else is joined if a moved piece is made late, at most `_MOST`.

        In `P Q R`, `PQ` and `QR` are tokens, and `P` or `R` is moved. Only the order of merges is looked at.
        """
        if self._declared is None or actual.settings.family.ranking is not Ranking.MERGE_RANK:
            return []
        ours, theirs = _joins_of_merges(actual.spec.merges or ()), self._competitors(self._declared, Ranking.MERGE_RANK)
        return _texts((one.pieces for one in nsmallest(_MOST, _delayed(ours, theirs, moved))), actual)

    def _find(self, spec: TokenizerSpec, ranking: Ranking) -> Sequence[tuple[str, ...]]:
        declared = self._declared
        if declared and _ranked(declared, ranking) == _ranked(spec, ranking):
            return ()
        ours = _joins(spec, ranking)
        theirs = self._competitors(declared, ranking) if declared else None
        found = _flipped(ours, theirs) if theirs and theirs.joins else _Competitors(ours).of(ours)
        pieces: list[tuple[str, ...]] = [one.pieces for one in nsmallest(_MOST, found)]
        if ranking is Ranking.SCORE_SUM:
            pieces += _close_divisions(_scores(spec), _scores(declared) if declared else None)
        return pieces

    def _competitors(self, declared: TokenizerSpec, ranking: Ranking) -> _Competitors:
        if ranking not in self._theirs:
            self._theirs[ranking] = _Competitors(_joins(declared, ranking))
        return self._theirs[ranking]


def _flipped(ours: Mapping[_Join, _Ranks], theirs: _Competitors) -> Iterator[_Competition]:
    """Yield competitions with another winner.

    Not every one changes ids, as other joins may come first, so more are made with the joins that have another rank.
    """
    closest = [one for one in theirs.of(theirs.joins) if _has_other_winner(one, ours, theirs.joins)]
    yield from closest
    moved = {join for one in closest for join in (one.first, one.second)}
    if len(closest) < _MOST:
        others = theirs.of(moved, _WINDOW)
        yield from (one for one in others if _has_other_winner(one, ours, theirs.joins))


def _flipped_around(
    ours: Mapping[_Join, _Ranks], theirs: Mapping[_Join, _Ranks], moved: Collection[str]
) -> Iterator[_Competition]:
    """Yield competitions of the joins that make moved pieces, if they have another winner.

    A run of spaces competes with each token that begins with a space, so the ranks are compared as arrays.
    """
    competitors = _Competitors(theirs)
    after = cache(lambda piece: _by_rank([join for _, join in competitors.starting(piece)], ours, theirs, "by_left"))
    before = cache(lambda piece: _by_rank([join for _, join in competitors.ending(piece)], ours, theirs, "by_right"))
    for join in theirs:
        if join.piece in moved:
            here, there = ours.get(join, _NEVER), theirs[join]
            seconds, ours_after, theirs_after = after(join.right)
            for at in ((here.by_right <= ours_after) != (there.by_right <= theirs_after)).nonzero()[0]:
                yield _Competition(abs(there.by_right - float(theirs_after[at])), join, seconds[at])
            firsts, ours_before, theirs_before = before(join.left)
            for at in ((ours_before <= here.by_left) != (theirs_before <= there.by_left)).nonzero()[0]:
                yield _Competition(abs(there.by_left - float(theirs_before[at])), firsts[at], join)


def _by_rank(
    joins: Sequence[_Join], ours: Mapping[_Join, _Ranks], theirs: Mapping[_Join, _Ranks], rank: str
) -> tuple[Sequence[_Join], NDArray[np.float64], NDArray[np.float64]]:
    """Return joins with their ranks in two tokenizers."""
    import numpy as np  # takes longer than most commands need

    here, there = (np.array([getattr(ranks.get(join, _NEVER), rank) for join in joins]) for ranks in (ours, theirs))
    return joins, here, there


def _delayed(ours: Mapping[_Join, _Ranks], theirs: _Competitors, moved: Collection[str]) -> Iterator[_Competition]:
    """Yield joins that need a moved piece, with those that compete and rank between its place here and there."""
    places: dict[str, list[float]] = {piece: [] for piece in moved}
    for joins in (ours, theirs.joins):
        first: dict[str, float] = {}
        for join, ranks in joins.items():
            if join.piece in places:
                first.setdefault(join.piece, ranks.by_left)
        for piece, found in places.items():
            found.append(first.get(piece, _LAST))
    for piece, (here, there) in places.items():
        yield from theirs.needing(piece, min(here, there), max(here, there))


def _joins_around(spec: TokenizerSpec, ranking: Ranking, moved: Collection[str]) -> Mapping[_Join, _Ranks]:
    """Return the joins that make some pieces, and those that compete with them; to list all would take long."""
    is_sum = ranking is Ranking.SCORE_SUM
    scores = _scores(spec) if ranking.uses_scores else {}
    joins = _joins_of_scores(scores, moved, is_sum=is_sum) if scores else _joins_of_merges(spec.merges or ())
    made = [join for join in joins if join.piece in moved]
    lefts, rights = {join.left for join in made}, {join.right for join in made}
    if scores:
        return {**joins, **_joins_of_scores(scores, scores, is_sum=is_sum, competing=(lefts, rights))}
    competing = (join for join in joins if join.left in rights or join.right in lefts or join.piece in moved)
    return {join: joins[join] for join in competing}


def rank_alike(first: TokenizerSpec, second: TokenizerSpec) -> bool:
    """Whether two variants of a tokenizer share the arrays that decide the order of joins."""
    names = ("model", "tokens", "scores", "merges")
    return all(getattr(first, name) is getattr(second, name) for name in names)


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
    return _joins_of_scores(scores, scores, is_sum=ranking is Ranking.SCORE_SUM)


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
    made = dict.fromkeys(pieces_made_by(spec.merges or ()))
    return scores | {piece: -float(rank) for rank, piece in enumerate(made)} if made else {}


def _joins_of_scores(
    scores: Mapping[str, float],
    pieces: Iterable[str],
    *,
    is_sum: bool,
    competing: tuple[Collection[str], Collection[str]] | None = None,
) -> Mapping[_Join, _Ranks]:
    """Return the joins that make some pieces; if sums decide, by what a join adds to the scores of its parts.

    Args:
        scores: The scores, by piece.
        pieces: The pieces to make.
        is_sum: Whether sums decide.
        competing: The left and the right pieces of other joins; return only joins that need one of them.
    """
    joins: dict[_Join, _Ranks] = {}
    lefts, rights = competing or ((), ())
    if competing and len(lefts) + len(rights) < _FEW:
        # To look at all parts of all pieces would take three times as long.
        starts, ends = tuple(rights), tuple(lefts)
        pieces = (piece for piece in pieces if piece.startswith(starts) or piece.endswith(ends))
    for piece in pieces:
        if (score := scores.get(piece)) is None:
            continue
        for at in range(1, len(piece) if len(piece) <= _LONGEST else 1):
            join = piece[:at], piece[at:]
            if competing and join[0] not in rights and join[1] not in lefts:
                continue
            left, right = scores.get(join[0]), scores.get(join[1])
            if left is not None and right is not None:
                joins[_Join(*join)] = _Ranks(left - score, right - score) if is_sum else _Ranks(-score, -score)
    return joins


class _Competitors:
    """The joins that need the same piece as another one, by rank."""

    def __init__(self, joins: Mapping[_Join, _Ranks]) -> None:
        self.joins = joins
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
            rank = self.joins[join]
            for other, second in _closest(self.starting(join.right), rank.by_right, window):
                yield _Competition(abs(rank.by_right - other), join, second)
            for other, first in _closest(self.ending(join.left), rank.by_left, window):
                yield _Competition(abs(rank.by_left - other), first, join)

    def starting(self, piece: str) -> Sequence[tuple[float, _Join]]:
        """Return the joins whose left part is a piece, with their ranks."""
        return self._starting.get(piece, ())

    def ending(self, piece: str) -> Sequence[tuple[float, _Join]]:
        """Return the joins whose right part is a piece, with their ranks."""
        return self._ending.get(piece, ())

    def needing(self, piece: str, low: float, high: float) -> Iterator[_Competition]:
        """Yield the joins that need a piece, with their competitors for the other part that rank between two ranks."""
        for _, first in self.starting(piece):
            for rank, second in _between(self.starting(first.right), low, high):
                yield _Competition(rank, first, second)
        for _, second in self.ending(piece):
            for rank, first in _between(self.ending(second.left), low, high):
                yield _Competition(rank, first, second)


def _between(ranked: Sequence[tuple[float, _Join]], low: float, high: float) -> Sequence[tuple[float, _Join]]:
    # A merge that was moved also moves those between its two places, by one.
    return ranked[bisect_left(ranked, (low - 1,)) : bisect_left(ranked, (high + 2,))]


def _closest(ranked: Sequence[tuple[float, _Join]], rank: float, window: int) -> Sequence[tuple[float, _Join]]:
    at = bisect_left(ranked, (rank,))
    return ranked[max(at - window, 0) : at + window]


def _has_other_winner(one: _Competition, ours: Mapping[_Join, _Ranks], theirs: Mapping[_Join, _Ranks]) -> bool:
    return _left_wins(one, ours) != _left_wins(one, theirs)


def _left_wins(one: _Competition, joins: Mapping[_Join, _Ranks]) -> bool:
    """Whether the first of two joins is made; of equal ones, the left one is."""
    return joins.get(one.first, _NEVER).by_right <= joins.get(one.second, _NEVER).by_left


def _texts(pieces: Iterable[tuple[str, ...]], actual: Encoder) -> list[str]:
    before = _separator(actual) if actual.settings.family.ranking is Ranking.SCORE_SUM else ""
    texts = (_text(each, actual) for each in pieces)
    return [before + text for text in dict.fromkeys(filter(None, texts))]


def _separator(actual: Encoder) -> str:
    """Return the punctuation mark with a token of its own that the fewest other tokens contain, if there is any.

    Without it, the pieces of a text compete with those that begin with a space, as most such models add one.
    """
    uses = Counter(chain.from_iterable(actual.spec.tokens))
    return min(frozenset(punctuation).intersection(actual.spec.tokens), key=uses.__getitem__, default="")


def _text(pieces: tuple[str, ...], actual: Encoder) -> str | None:
    ids = actual.settings.ids
    if not all(piece in ids for piece in pieces):
        return None
    return from_utf8(b"".join(actual.token_bytes(ids[piece]) for piece in pieces))


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


def _close_divisions(ours: Scores, theirs: Scores | None) -> list[tuple[str, str]]:
    """Return pairs of pieces for whose text other pieces have nearly the same sum of scores, at most `_MOST`.

    If the reference declares scores, only texts count that the two divide differently.
    """
    if not theirs:
        return [one.two for one in nsmallest(_MOST, _Divisions(ours, frozenset()).find())]
    moved = frozenset(piece for piece, score in theirs.items() if ours.get(piece) != score)
    found = _Divisions(theirs, moved).find()
    flipped = (one for one in found if one.prefers_other(ours) != one.prefers_other(theirs))
    return [one.two for one in nsmallest(_MOST, flipped)]


class _Divisions:
    """Finds the divisions whose sums are closest for each piece in the middle, and each way to cut it.

    Args:
        scores: The scores, by piece.
        moved: The pieces to try in any case.
    """

    def __init__(self, scores: Scores, moved: frozenset[str]) -> None:
        self._scores = scores
        self._moved = moved
        self._window = max(_DIVISIONS, _WORK // max(len(scores), 1))
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
        at, near = bisect_left(pieces, (wanted,)), max(self._window // _DIVISIONS, 1)
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
        for at in range(1, len(piece) if len(piece) <= _LONGEST_DIVIDED else 1):
            yield piece, piece[:at], piece[at:]
