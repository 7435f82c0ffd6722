"""The results of encoding or decoding many texts at once: one buffer with offsets, and lists on request."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, pairwise
from typing import overload


class EncodedBatch(Sequence[list[int]]):
    """The ids of many texts; item `i` is the list of the ids of text `i`."""

    __slots__ = ("ids", "offsets")

    def __init__(self, ids: memoryview, offsets: memoryview) -> None:
        self.ids = ids
        """The ids of all texts: unsigned 32-bit integers, which NumPy and Arrow can use without copying."""
        self.offsets = offsets
        """Where the ids of each text start, and where the last ones end: signed 64-bit integers."""

    @classmethod
    def from_lists(cls, lists: Iterable[list[int]]) -> EncodedBatch:
        """Store lists of ids."""
        kept = list(lists)
        ids = array("I", chain.from_iterable(kept))
        return cls(memoryview(ids), memoryview(array("q", accumulate(map(len, kept), initial=0))))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> list[int]: ...

    @overload
    def __getitem__(self, index: slice) -> list[list[int]]: ...

    def __getitem__(self, index: int | slice) -> list[int] | list[list[int]]:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        position = range(len(self))[index]
        return self.ids[self.offsets[position] : self.offsets[position + 1]].tolist()

    def __iter__(self) -> Iterator[list[int]]:
        ids = self.ids
        for start, end in pairwise(self.offsets):
            yield ids[start:end].tolist()
