"""Remembering what became of the chunks of a text: whole lines, their words, the parts of those."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    Ids = tuple[int, ...]

LENGTH = 1 << 12
ROOM = 1 << 22

Value = TypeVar("Value")


class Memory(dict[str, Value], Generic[Value]):
    """Results by text, mostly ids: `memory[text]` encodes a text at its first sight and remembers it.

    Texts longer than `LENGTH` characters hardly ever come again and are not kept; at `ROOM` characters in all it
    starts afresh.
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


def in_layers(
    splitters: Sequence[Callable[[str], Iterable[str]]], encode: Callable[[str], Ids]
) -> Callable[[str], Ids]:
    """Return the function that cuts a text by the first splitter, the chunks by the next, and encodes the last ones.

    Every chunk is remembered, in a memory of its layer. Each splitter must cut where `encode` cannot tell.
    """
    for split in reversed(splitters):
        encode = _chained(split, Memory(encode))
    return encode


def _chained(split: Callable[[str], Iterable[str]], memory: Memory[Ids]) -> Callable[[str], Ids]:
    return lambda text: tuple(chain.from_iterable(map(memory.__getitem__, split(text))))
