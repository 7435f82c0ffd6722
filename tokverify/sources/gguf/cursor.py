"""Read values from a GGUF file with bounds checks."""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterator, Sequence
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokverify.engine.engine_choice import usable_native_module
from tokverify.engine.joined_strings import JoinedStrings
from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.system.content import why_broken

if TYPE_CHECKING:
    from tokverify.sources.gguf.window import GgufFile


class ValueType(IntEnum):
    """The type of a metadata value, numbered as in the file."""

    UINT8 = 0
    INT8 = 1
    UINT16 = 2
    INT16 = 3
    UINT32 = 4
    INT32 = 5
    FLOAT32 = 6
    BOOL = 7
    STRING = 8
    ARRAY = 9
    UINT64 = 10
    INT64 = 11
    FLOAT64 = 12


# The struct code of each type of fixed size; `array` uses the same codes except "?".
_CODES = {
    ValueType.UINT8: "B",
    ValueType.INT8: "b",
    ValueType.UINT16: "H",
    ValueType.INT16: "h",
    ValueType.UINT32: "I",
    ValueType.INT32: "i",
    ValueType.FLOAT32: "f",
    ValueType.BOOL: "?",
    ValueType.UINT64: "Q",
    ValueType.INT64: "q",
    ValueType.FLOAT64: "d",
}
SIZES = {kind: struct.calcsize("=" + code) for kind, code in _CODES.items()}
"""The size in bytes of a value of each type of fixed size."""

MAX_KEPT_BYTES = 1 << 27
"""The limit for all strings and arrays that are kept in memory, in bytes of the file."""

_MAX_STRING = 1 << 30
_HEAD = 1 << 16
"""So many bytes show whether a program has taken the file for text."""


class Cursor:
    """A position in a file that cannot leave the file.

    `place` describes in errors what is being read; `order` is struct's character for the byte order.
    """

    def __init__(self, path: Path, data: GgufFile) -> None:
        self.path = path
        self.data = data
        self.position = 0
        self._kept = 0
        self.place = "header"
        self.order = "<"

    @property
    def left(self) -> int:
        """The number of bytes from the position to the end of the file."""
        return len(self.data) - self.position

    def damaged(self, problem: str) -> BrokenFileError:
        """Build the error for bytes that are not valid here."""
        return self._broken(f"damaged: {problem}", "download or convert the file again")

    def truncated(self, needed: str) -> BrokenFileError:
        """Build the error for a file that ends too early, or for a length that exceeds it."""
        problem = f"truncated: {needed} at byte {self.position}, where {self.left} bytes are left"
        return self._broken(problem, "download or copy the file again")

    def _broken(self, problem: str, advice: str) -> BrokenFileError:
        reason = why_broken(self.data.read(0, min(_HEAD, len(self.data))))
        return BrokenFileError(f"{self.path}: {self.place}: {problem}; {reason + '; ' if reason else ''}{advice}")

    def skip(self, length: int) -> None:
        """Skip the next `length` bytes."""
        if length > self.left:
            raise self.truncated(f"needs {length} bytes")
        self.position += length

    def take(self, length: int) -> bytes:
        """Return the next `length` bytes."""
        start = self.position
        self.skip(length)
        return self.data.read(start, length)

    def _keep(self, length: int) -> None:
        """Count bytes that are kept in memory."""
        self._kept += length
        if self._kept > MAX_KEPT_BYTES:
            limit = f"{MAX_KEPT_BYTES >> 20} MiB"
            raise UnsupportedError(f"{self.path}: {self.place}: the tokenizer is larger than {limit}, the limit")

    def scalar(self, type: ValueType) -> object:
        """Read one value of fixed size."""
        return struct.unpack(self.order + _CODES[type], self.take(SIZES[type]))[0]

    def uint32(self) -> int:
        """Read one UINT32."""
        return int.from_bytes(self.take(4), "little" if self.order == "<" else "big")

    def uint64(self) -> int:
        """Read one UINT64."""
        return int.from_bytes(self.take(8), "little" if self.order == "<" else "big")

    def count(self, what: str, least_bytes: int) -> int:
        """Read the number of `what` that follow, each of at least `least_bytes` bytes."""
        count = self.uint64()
        if count * least_bytes > self.left:
            raise self.truncated(f"{count} {what} cannot fit")
        return count

    def string(self, limit: int = _MAX_STRING) -> str:
        """Read one string of at most `limit` bytes; bytes that are not UTF-8 become lone surrogates."""
        length = self._string_length(limit)
        self._keep(length)
        return str(self.take(length), "utf-8", "surrogateescape")

    def skip_string(self) -> None:
        """Skip one string."""
        length = self._string_length(_MAX_STRING)
        self.position += length

    def _string_length(self, limit: int) -> int:
        length = self.uint64()
        if length > self.left:
            raise self.truncated(f"a string of {length} bytes cannot fit")
        if length > limit:
            raise self.damaged(f"a string of {length} bytes exceeds the limit of {limit}")
        return length

    def skip_strings(self, count: int) -> None:
        """Skip `count` strings."""
        self.data.expect(self.position + count * LENGTH_SIZE)
        while count:
            count -= self._skip_strings(count)

    def _skip_strings(self, count: int) -> int:
        """Skip the strings in one window of the file, or one that leaves it, and return their number."""
        if self.left < LENGTH_SIZE:
            raise self.truncated(f"needs {LENGTH_SIZE} bytes")
        window, start = self.data.window(self.position, LENGTH_SIZE)
        end, skipped, _ = join_strings(window, start, self.order == ">", count)
        self.position += end - start
        if not skipped:
            self.skip(self.uint64())
        return skipped or 1

    def strings(self, count: int) -> Sequence[str]:
        """Read `count` strings like `string`; they are decoded when one of them is needed."""
        start, kept = self.position, self._kept
        joined = b"\0".join(self._parts(count))
        if count and joined.count(b"\0") == count - 1:
            return JoinedStrings(joined, count)
        self.position, self._kept = start, kept
        return [str(part, "utf-8", "surrogateescape") for part in self._parts(count, contains_nul=True)]

    def _parts(self, count: int, *, contains_nul: bool = False) -> Iterator[bytes]:
        """Yield the bytes of `count` strings, which are joined with NUL if none of them contains it."""
        left = count
        while left:
            if self.left < LENGTH_SIZE:
                raise self.truncated(f"string {count - left} of {count} (from 0) cannot fit")
            window, start = self.data.window(self.position, LENGTH_SIZE)
            read = split_strings if contains_nul else join_strings
            end, taken, parts = read(window, start, self.order == ">", left)
            self._keep(end - start)
            self.position += end - start
            yield from parts if taken else [self._long_string(count - left, count)]
            left -= taken or 1

    def _long_string(self, number: int, count: int) -> bytes:
        """Read a string that does not fit into a window of the file."""
        start = self.position
        length = self.uint64()
        if length > self.left:
            self.position = start
            raise self.truncated(f"string {number} of {count} (from 0) cannot fit")
        self._keep(length)
        return self.take(length)

    def numbers(self, type: ValueType, count: int) -> array[Any]:
        """Read `count` values of fixed size into an array in native byte order."""
        result: array[Any] = array("B" if type is ValueType.BOOL else _CODES[type])
        self._keep(count * result.itemsize)
        result.frombytes(self.take(count * result.itemsize))
        if (self.order == "<") != (sys.byteorder == "little"):
            result.byteswap()
        return result


LENGTH_SIZE = 8
"""The size in bytes of the length before each string."""


def split_strings(window: bytes, position: int, is_big_endian: bool, count: int) -> tuple[int, int, list[bytes]]:
    """Read up to `count` strings of `window`, from `position` on; only those that end inside of it.

    Returns:
        The position after the last string, the number of strings, and the strings.
    """
    size = len(window)
    length_at = struct.Struct(">Q" if is_big_endian else "<Q").unpack_from
    strings: list[bytes] = []
    # This loop avoids calls and lookups.
    while len(strings) < count and position + LENGTH_SIZE <= size:
        begin = position + LENGTH_SIZE
        end = begin + length_at(window, position)[0]
        if end > size:
            break
        strings.append(window[begin:end])
        position = end
    return position, len(strings), strings


def join_strings(window: bytes, position: int, is_big_endian: bool, count: int) -> tuple[int, int, list[bytes]]:
    """Do the same, but join the strings with NUL."""
    module = usable_native_module()
    if module:
        end, taken, joined = module.join_strings(window, position, is_big_endian, count)
        return end, taken, [joined]
    end, taken, strings = split_strings(window, position, is_big_endian, count)
    return end, taken, [b"\0".join(strings)]
