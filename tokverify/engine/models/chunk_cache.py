"""Cache the encodings of chunks of a text: lines, words, and parts of words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    Ids = tuple[int, ...]

LENGTH = 1 << 12
"""The length of the longest cached text, in characters."""
ROOM = 1 << 22
"""The total length of all cached texts, in characters."""

Value = TypeVar("Value")


class ChunkCache(dict[str, Value], Generic[Value]):
    """Results by text, mostly ids: `cache[text]` encodes a text on first use and stores the result.

    Texts longer than `LENGTH` are not stored because they rarely recur. When `ROOM` is used up, the cache is cleared.
    """

    __slots__ = ("_encode", "_room")

    def __init__(self, encode: Callable[[str], Value]) -> None:
        super().__init__()
        self._encode = encode
        self._room = ROOM

    def __missing__(self, text: str) -> Value:
        result = self._encode(text)
        if len(text) <= LENGTH:
            self._room -= len(text)
            if self._room < 0:
                self.clear()
                self._room = ROOM
            self[text] = result
        return result


def cached_stages(
    splitters: Sequence[Callable[[str], Iterable[str]]], encode: Callable[[str], Ids]
) -> Callable[[str], Ids]:
    """Return the function that splits a text by each splitter in turn and encodes the resulting chunks.

    Each stage has its own cache. A splitter may split only where this does not change what `encode` returns.
    """
    for split in reversed(splitters):
        encode = _cached_stage(split, ChunkCache(encode))
    return encode


def _cached_stage(split: Callable[[str], Iterable[str]], cache: ChunkCache[Ids]) -> Callable[[str], Ids]:
    return lambda text: tuple(chain.from_iterable(map(cache.__getitem__, split(text))))
