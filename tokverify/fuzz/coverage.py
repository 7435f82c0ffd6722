"""Coverage: which share of a vocabulary, and of its merges, a run has exercised.

A piece is exercised when its id came out of some text. A merge is exercised when a piece that came out was put together
with it, at any step. Which steps those are does not depend on the text around: what has become one token was never
joined with its neighbors, so merging its characters alone takes the same steps.

For byte-pair encoding by rank, the merges are those listed. By score there is no list: there each piece of two or more
characters that is neither an added token nor a byte is one merge, the last that makes it. Other models do not merge.
Some pieces and merges cannot come out of any text, so 100 % may be out of reach. Where whole words are looked up before
anything is merged (`ignore_merges`), a piece counts as if it had been merged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

from tokverify.engine.encoder import Encoder

if TYPE_CHECKING:
    from tokverify.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many."""

    done: int
    total: int

    @property
    def ratio(self) -> float:
        """Between 0 and 1; 1 where there is nothing to do."""
        return self.done / self.total if self.total else 1.0


class Coverage:
    """Counts what a run has exercised of a tokenizer; merges are known only of an `Encoder`."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._size = tokenizer.vocab_size
        self._piece = tokenizer.piece
        self._seen: set[int] = set()
        self._merges, self._merges_of = _merges(tokenizer)
        self._exercised: set[str] = set()

    def add(self, ids: Iterable[int]) -> None:
        """Note ids that came out of texts."""
        new = [id for id in ids if id not in self._seen]
        self._seen.update(new)
        if self._merges:
            for id in new:
                self._exercised.update(self._merges_of(self._piece(id)))

    @property
    def pieces(self) -> Share:
        """The share of the ids."""
        return Share(len(self._seen), self._size)

    @property
    def merges(self) -> Share | None:
        """The share of the merges; None if this tokenizer has none."""
        return Share(len(self._exercised & self._merges), len(self._merges)) if self._merges else None


def _merges(tokenizer: Tokenizer) -> tuple[set[str], Callable[[str], Iterable[str]]]:
    """Return all merges, and the function that tells those a piece is put together with."""
    if isinstance(tokenizer, Encoder):
        merging = tokenizer.settings.family.merge_costs(tokenizer.spec, tokenizer.settings)
        if merging is not None:
            return set(merging.merges), lambda piece: steps(piece, merging.costs, merging.separator)
    return set(), lambda _: ()


def steps(piece: str, costs: Mapping[str, float], separator: str) -> Sequence[str]:
    """Return the pairs that are joined to make a piece of its characters, in order, each joined by `separator`.

    This is the loop of `tokverify.engine.models.merge`, which does not say what it joins.
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
