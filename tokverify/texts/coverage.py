"""Measure which share of a vocabulary, and of its merges, a run has exercised.

A piece is exercised if a text produces its id. A merge is exercised if it is one of the steps that build such a
piece. The steps do not depend on the surrounding text: the characters of a token were never merged with its neighbors,
so merging them alone takes the same steps.

For byte-pair encoding by rank, the merges are those in the file. Merging by score has no list of merges: each piece of
two or more characters that is neither an added token nor a byte counts as one merge, the last one that builds it. Other
models do not merge. Some pieces and merges cannot be produced by any text, so 100% may be out of reach. If whole words
are looked up before merging (`ignore_merges`), a piece counts as if it had been merged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import pairwise
from math import inf

from tokverify.engine.encoder import Encoder
from tokverify.report.fuzz import FuzzCoverage, Share
from tokverify.tokenizer import Tokenizer


def ratio(share: Share) -> float:
    """Return a share as a number from 0 to 1; an empty whole counts as covered."""
    return share.done / share.total if share.total else 1.0


class CoverageCounter:
    """Counts what a run has exercised of a tokenizer; only an `Encoder` has known merges."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._size = tokenizer.vocab_size
        self._piece = tokenizer.piece
        self._seen: set[int] = set()
        self._merges, self._merges_of = _merges(tokenizer)
        self._exercised: set[str] = set()

    def add(self, ids: Iterable[int]) -> None:
        """Record ids that texts produced."""
        new = [id for id in ids if 0 <= id < self._size and id not in self._seen]
        self._seen.update(new)
        if self._merges:
            for id in new:
                self._exercised.update(self._merges_of(self._piece(id)))

    @property
    def pieces(self) -> Share:
        """The share of the ids that texts produced."""
        return Share(len(self._seen), self._size)

    @property
    def coverage(self) -> FuzzCoverage:
        """The coverage so far."""
        merges = Share(len(self._exercised & self._merges), len(self._merges)) if self._merges else None
        return FuzzCoverage(self.pieces, merges)


def _merges(tokenizer: Tokenizer) -> tuple[Set[str], Callable[[str], Iterable[str]]]:
    """Return all merges, and a function from a piece to the merges that build it."""
    if isinstance(tokenizer, Encoder):
        merging = tokenizer.settings.family.merge_costs(tokenizer.spec, tokenizer.settings)
        if merging is not None:
            return merging.merges, lambda piece: steps(piece, merging.costs, merging.separator)
    return set(), lambda _: ()


def steps(piece: str, costs: Mapping[str, float], separator: str) -> Sequence[str]:
    """Return the merges that build a piece from its characters, in order, as pairs joined by `separator`.

    This is the loop of `tokverify.engine.models.merge`, which does not report its steps.
    """
    symbols = list(piece)
    taken = []
    while len(symbols) > 1:
        pairs = [f"{left}{separator}{right}" for left, right in pairwise(symbols)]
        pair_costs = [costs.get(pair, inf) for pair in pairs]
        cheapest = min(pair_costs)
        if cheapest == inf:
            break
        index = pair_costs.index(cheapest)
        taken.append(pairs[index])
        symbols[index : index + 2] = [symbols[index] + symbols[index + 1]]
    return taken
