"""JsonNode: a value in a JSON file that knows where it stands, read strictly."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from itertools import chain
from typing import TypeVar

from tokverify.errors import TokverifyError
from tokverify.text.visible import visible

_Value = TypeVar("_Value")
_Choice = TypeVar("_Choice", bound=StrEnum)

_MAX_SHOWN = 40
_TOO_LARGE = 1 << 63
# Of what stands in YAML it is 20, and more than 300 is too deep for what writes JSON.
_MAX_DEPTH = 100
_KINDS = {dict: "an object", list: "a list", type(None): "null"}


class JsonNode:
    """A value of a JSON file.

    `file` is the file's name, for messages. What is not as it should be raises a TokverifyError that names the place.
    """

    __slots__ = ("_key", "_parent", "file", "value")

    def __init__(self, file: str, value: object, parent: JsonNode | None = None, key: str | int = "") -> None:
        self.file = file
        self.value = value
        self._parent = parent
        self._key = key

    @property
    def path(self) -> str:
        """Where the value stands, such as `cases[3].ids.actual`."""
        if self._parent is None:
            return ""
        before = self._parent.path
        if isinstance(self._key, int):
            return f"{before}[{self._key}]"
        return f"{before}.{self._key}" if before else self._key

    def error(self, wanted: str) -> TokverifyError:
        """Return the error that says that something else was wanted here."""
        kind = _KINDS.get(type(self.value))
        shown = kind or repr(self.value)[:_MAX_SHOWN]
        place = visible(self.path, mark_spaces=False) or "the file"
        return TokverifyError(f"{self.file}: not a report of tokverify: {place} is {shown}; wanted is {wanted}")

    def has(self, key: str) -> bool:
        """Tell whether an object has a key."""
        return isinstance(self.value, dict) and key in self.value

    def get(self, key: str) -> JsonNode:
        """Return the value of an object's key."""
        if not isinstance(self.value, dict) or key not in self.value:
            raise self.error(f"an object with the key {key!r}")
        return JsonNode(self.file, self.value[key], self, key)

    def optional(self, read: Callable[[JsonNode], _Value]) -> _Value | None:
        """Read a value that may be null."""
        return None if self.value is None else read(self)

    def items(self, read: Callable[[JsonNode], _Value]) -> list[_Value]:
        """Read a list, each item with `read`."""
        if not isinstance(self.value, list):
            raise self.error("a list")
        return [read(JsonNode(self.file, item, self, index)) for index, item in enumerate(self.value)]

    def entries(self, read: Callable[[JsonNode], _Value]) -> dict[str, _Value]:
        """Read an object with any keys, each value with `read`."""
        if not isinstance(self.value, dict):
            raise self.error("an object")
        return {key: read(JsonNode(self.file, value, self, key)) for key, value in self.value.items()}

    def mapping(self) -> dict[str, object]:
        """Read an object as it is, with all that is in it."""
        if not isinstance(self.value, dict) or _is_deep(self.value):
            raise self.error(f"an object, nested at most {_MAX_DEPTH} deep")
        return self.value

    def string(self) -> str:
        """Read a string."""
        if not isinstance(self.value, str):
            raise self.error("a string")
        return self.value

    def one_of(self, kind: type[_Choice]) -> _Choice:
        """Read one of the strings of an enumeration."""
        try:
            return kind(self.string())
        except ValueError:
            raise self.error(" or ".join(kind)) from None

    def boolean(self) -> bool:
        """Read true or false."""
        if not isinstance(self.value, bool):
            raise self.error("true or false")
        return self.value

    def integer(self) -> int:
        """Read a whole number, of at most 64 bits: of larger ones Python makes no fraction."""
        # subtle: to Python, true is a whole number too.
        if not isinstance(self.value, int) or isinstance(self.value, bool) or abs(self.value) >= _TOO_LARGE:
            raise self.error("a whole number")
        return self.value

    def count(self) -> int:
        """Read a whole number that is not negative."""
        number = self.integer()
        if number < 0:
            raise self.error("a whole number from 0 on")
        return number

    def integers(self) -> tuple[int, ...]:
        """Read a list of whole numbers."""
        if isinstance(self.value, list) and all(type(item) is int for item in self.value):
            return tuple(self.value)
        raise self.error("a list of whole numbers")

    def hex_bytes(self) -> bytes:
        """Read bytes that are written in hexadecimal."""
        try:
            return bytes.fromhex(self.string())
        except ValueError:
            raise self.error("bytes in hexadecimal") from None


def _is_deep(value: object) -> bool:
    """Tell whether a value is nested too deep to be written again."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        inside = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list))
        level = list(chain.from_iterable(inside))
    return bool(level)
