"""A dictionary that works out what it does not hold, and never grows without bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

LENGTH = 1 << 10
ROOM = 1 << 24

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
