"""Learn merges step by step, as the descriptions of byte-pair encoding do: count pairs, merge the most frequent one.

It gives the merges of HuggingFace's trainer, and can in addition trace each step and break ties by first occurrence.
It is slower, because it is written in Python.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from heapq import heapify, heappop, heappush, nsmallest
from itertools import pairwise
from typing import TypeAlias

from tokverify.engine.byte_level import byte_pieces

Pair: TypeAlias = tuple[int, int]

SHOWN_PAIRS = 8
"""The number of pairs that a step lists, the most frequent ones first."""
SHOWN_CHUNKS = 64
"""The number of chunks at the beginning of the corpus whose tokens a step lists."""


class Ties(StrEnum):
    """Which of several equally frequent pairs is merged."""

    IDS = "ids"
    """The one with the lowest ids, as HuggingFace's trainer decides."""
    FIRST = "first"
    """The one that occurs first in the corpus, as in minbpe."""


@dataclass(frozen=True, slots=True)
class Step:
    """One merge of a training."""

    counts: tuple[tuple[Pair, int], ...]
    """The most frequent pairs before the merge."""
    pairs: int
    """How many different pairs there were."""
    pair: Pair
    new_id: int
    tokens: tuple[int, ...]
    """The tokens at the beginning of the corpus after the merge."""
    total: int
    """How many tokens the corpus has after the merge."""


class MergeLearner:
    """Learns merges from chunks of text, given in the byte-level alphabet and in the order of the corpus."""

    def __init__(self, chunks: Iterable[str], ties: Ties) -> None:
        self._ties = ties
        self._pieces = byte_pieces()
        self._ids = {piece: id for id, piece in enumerate(self._pieces)}
        frequencies: Counter[str] = Counter()
        first: list[str] = []
        for chunk in chunks:
            frequencies[chunk] += 1
            if len(first) < SHOWN_CHUNKS:
                first.append(chunk)
        # A counter keeps the order of first occurrence, which decides ties.
        self._words = [[self._ids[character] for character in chunk] for chunk in frequencies]
        self._frequencies = list(frequencies.values())
        places = {chunk: index for index, chunk in enumerate(frequencies)}
        self._first_words = [places[chunk] for chunk in first]
        self._total = sum(len(word) * count for word, count in zip(self._words, self._frequencies, strict=True))
        self._counts: Counter[Pair] = Counter()
        self._where: dict[Pair, set[int]] = {}
        for index in range(len(self._words)):
            self._count(index, +1)
        self._queue = [self._entry(pair) for pair in self._counts]
        heapify(self._queue)

    def learn(
        self, count: int, min_frequency: int, on_step: Callable[[Step], None] | None = None, traced: int = 0
    ) -> Iterator[tuple[str, str]]:
        """Yield merges until there are `count` new pieces; the first `traced` steps are passed to `on_step`."""
        size = len(self._pieces) + count
        while len(self._pieces) < size and (pair := self._most_frequent()) and self._counts[pair] >= min_frequency:
            counts = self._most_frequent_pairs() if traced else ()
            pairs = len(self._counts)
            left, right = (self._pieces[id] for id in pair)
            new_id = self._merge(pair)
            if traced and on_step:
                on_step(Step(counts, pairs, pair, new_id, self._first_tokens(), self._total))
                traced -= 1
            yield left, right

    def _entry(self, pair: Pair) -> tuple[int, Pair, Pair]:
        """Return the place of a pair in the queue; the smallest is merged first."""
        return -self._counts[pair], self._first_place(pair) if self._ties is Ties.FIRST else pair, pair

    def _first_place(self, pair: Pair) -> Pair:
        word = min(self._where[pair])
        return word, list(pairwise(self._words[word])).index(pair)

    def _most_frequent(self) -> Pair | None:
        while self._queue:
            entry = self._queue[0]
            if self._counts.get(entry[2]) and entry == self._entry(entry[2]):
                return entry[2]
            # Its count or place has changed since; the current entry is in the queue, too.
            heappop(self._queue)
        return None

    def _most_frequent_pairs(self) -> tuple[tuple[Pair, int], ...]:
        best = nsmallest(SHOWN_PAIRS, map(self._entry, self._counts))
        return tuple((pair, -count) for count, _, pair in best)

    def _merge(self, pair: Pair) -> int:
        left, right = pair
        piece = self._pieces[left] + self._pieces[right]
        # subtle: another pair may have formed the same piece before.
        new_id = self._ids.setdefault(piece, len(self._pieces))
        if new_id == len(self._pieces):
            self._pieces.append(piece)
        changed: set[Pair] = set()
        for index in sorted(self._where[pair]):
            changed.update(pairwise(self._words[index]))
            self._count(index, -1)
            before = len(self._words[index])
            self._words[index] = merge_pair(self._words[index], pair, new_id)
            self._total -= (before - len(self._words[index])) * self._frequencies[index]
            self._count(index, +1)
            changed.update(pairwise(self._words[index]))
        for touched in changed:
            if self._counts.get(touched):
                heappush(self._queue, self._entry(touched))
        return new_id

    def _count(self, index: int, sign: int) -> None:
        """Add the pairs of a word to the counts, or remove them."""
        for pair in pairwise(self._words[index]):
            self._counts[pair] += sign * self._frequencies[index]
            if sign > 0:
                self._where.setdefault(pair, set()).add(index)
            else:
                self._where[pair].discard(index)
            if not self._counts[pair]:
                del self._counts[pair]

    def _first_tokens(self) -> tuple[int, ...]:
        return tuple(id for index in self._first_words for id in self._words[index])


def merge_pair(ids: Sequence[int], pair: Pair, new_id: int) -> list[int]:
    """Replace a pair of ids by another id, from left to right and without overlap."""
    merged: list[int] = []
    index = 0
    while index < len(ids):
        found = index + 1 < len(ids) and (ids[index], ids[index + 1]) == pair
        merged.append(new_id if found else ids[index])
        index += 1 + found
    return merged
