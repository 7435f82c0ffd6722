"""Trace the loop of `tokverify.engine.models.merge`: every merge, and the pairs it was preferred to."""

from __future__ import annotations

import sys
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise, takewhile
from math import inf
from typing import TYPE_CHECKING

from tokverify.engine.trace import RIVALS, Join, Merging, Spelled, Taken, Word
from tokverify.report.explain import Pair

if TYPE_CHECKING:
    from tokverify.engine.rewriting import Span


@dataclass(frozen=True, slots=True)
class MergeRules:
    """The rules of a byte-pair model; `costs` and `separator` are those of `merge`."""

    by: str
    """The meaning of a cost: `rank` or `score`."""
    costs: Mapping[str, float]
    separator: str
    ids: Mapping[str, int]
    spell: Callable[[str], Sequence[int | None]]
    """Returns an id, or None, for each byte of a symbol that is not a piece."""
    byte_level: bool = False
    """Whether each character of a symbol represents one byte of the text."""


def trace_word(text: Sequence[str], start: int, rules: MergeRules, pre_token: int | None = None) -> Word:
    """Encode a word, given as its symbols, that begins at the byte `start`, and record every merge."""
    weigh = _score if rules.by == "score" else float
    symbols, joins = trace_merge(list(text), rules.costs, rules.separator, weigh)
    tokens: list[Taken] = []
    spelled = []
    place = start
    for symbol in symbols:
        size = len(symbol) if rules.byte_level else len(symbol.encode())
        if symbol in rules.ids:
            tokens.append(Taken(rules.ids[symbol], place, place + size))
        else:
            spelled_symbol = Spelled(symbol, tuple(rules.spell(symbol)))
            spelled.append(spelled_symbol)
            tokens += _byte_tokens(spelled_symbol, (place, place + size), byte_level=rules.byte_level)
        place += size
    joins = [replace(join, id=rules.ids.get(join.pair.joined)) for join in joins]
    ids = tuple(map(rules.ids.get, text))
    merging = Merging(rules.by, tuple(text), tuple(joins), tuple(symbols), tuple(spelled), ids)
    return Word(start, place, tuple(tokens), merging, pre_token)


def convert_symbols(word: Word, convert: Callable[[str], str]) -> Word:
    """Return a word with its symbols as `convert` writes them."""

    def convert_pair(pair: Pair) -> Pair:
        return replace(pair, left=convert(pair.left), right=convert(pair.right))

    how = word.how
    if not isinstance(how, Merging):
        return word
    joins = (
        replace(join, pair=convert_pair(join.pair), rivals=tuple(map(convert_pair, join.rivals))) for join in how.joins
    )
    merging = replace(
        how,
        symbols=tuple(map(convert, how.symbols)),
        joins=tuple(joins),
        left=tuple(map(convert, how.left)),
        spelled=tuple(replace(each, symbol=convert(each.symbol)) for each in how.spelled),
    )
    return replace(word, how=merging)


def _byte_tokens(spelled: Spelled, span: Span, *, byte_level: bool) -> Iterator[Taken]:
    for offset, id in enumerate(spelled.ids):
        if id is not None:
            place = span if byte_level else (span[0] + offset, span[0] + offset + 1)
            yield Taken(id, *place, spells=True)


def _score(cost: float) -> float:
    return -inf if cost == sys.float_info.max else -cost


Key = tuple[float, str, str]
"""The cost of a pair and its two symbols."""


def trace_merge(
    symbols: Sequence[str], costs: Mapping[str, float], separator: str, weight: Callable[[float], float]
) -> tuple[list[str], list[Join]]:
    """Merge symbols as `merge` does; return the remaining symbols and the merges in order.

    `weight` converts a cost to the weight that is recorded.
    """
    line = _Line(symbols, costs, separator)
    joins = []
    while (cheapest := line.cheapest()) is not None:
        key, index = cheapest
        pair, *others = line.pairs(key, weight)
        joins.append(Join(index, pair, tuple(others), max(0, line.count - 1 - len(others))))
        line.join(index)
    return line.left(), joins


class _Line:
    """A sequence of symbols, each merged one at the index of its left part, and the indexes of each pair."""

    def __init__(self, symbols: Sequence[str], costs: Mapping[str, float], separator: str) -> None:
        self._symbols: list[str] = [*symbols]
        self._following = list(range(1, len(symbols) + 1))
        self._preceding = list(range(-1, len(symbols) - 1))
        self._costs = costs
        self._separator = separator
        self._places: dict[Key, list[int]] = {}
        for index, _ in enumerate(pairwise(symbols)):
            self._note(index)
        self._keys: list[Key] = sorted(self._places)

    @property
    def count(self) -> int:
        """The number of different pairs that can be merged."""
        return len(self._keys)

    def left(self) -> list[str]:
        """Return the current symbols."""
        return [symbol for symbol in self._symbols if symbol]

    def cheapest(self) -> tuple[Key, int] | None:
        """Return the pair to merge and its index: the leftmost of the cheapest pairs."""
        if not self._keys:
            return None
        least = self._keys[0][0]
        equals = takewhile(lambda key: key[0] == least, self._keys)
        index, key = min((self._places[key][0], key) for key in equals)
        return key, index

    def pairs(self, first: Key, weight: Callable[[float], float]) -> Iterator[Pair]:
        """Yield the pair `first`, then the best others."""
        others = islice((key for key in self._keys if key != first), RIVALS)
        for key in (first, *others):
            yield Pair(key[1], key[2], weight(key[0]), len(self._places[key]))

    def join(self, index: int) -> None:
        """Merge the symbol at `index` with the one that follows it."""
        before, right = self._preceding[index], self._following[index]
        after = self._following[right]
        for place in (before, index, right):
            self._forget(place)
        self._symbols[index] += self._symbols[right]
        self._symbols[right] = ""
        self._following[index] = after
        if after < len(self._symbols):
            self._preceding[after] = index
        for place in (before, index):
            key = self._note(place)
            if key is not None and len(self._places[key]) == 1:
                insort(self._keys, key)

    def _key(self, place: int) -> Key | None:
        """Return the pair that begins with the symbol at `place`, if it can be merged."""
        if place < 0 or self._following[place] >= len(self._symbols):
            return None
        left, right = self._symbols[place], self._symbols[self._following[place]]
        cost = self._costs.get(f"{left}{self._separator}{right}")
        return None if cost is None else (cost, left, right)

    def _note(self, place: int) -> Key | None:
        key = self._key(place)
        if key is not None:
            insort(self._places.setdefault(key, []), place)
        return key

    def _forget(self, place: int) -> None:
        key = self._key(place)
        if key is None:
            return
        places = self._places[key]
        del places[bisect_left(places, place)]
        if not places:
            del self._places[key]
            del self._keys[bisect_left(self._keys, key)]
