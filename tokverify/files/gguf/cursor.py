"""Read values from a memory-mapped GGUF file with bounds checks."""

from __future__ import annotations

import mmap
import stat
import struct
import sys
from array import array
from enum import IntEnum
from pathlib import Path
from typing import Any

from tokverify.errors import BrokenFileError, TokverifyError


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

_MAX_STRING = 1 << 30


def map_file(path: Path) -> mmap.mmap:
    """Map a file into memory for reading.

    Raises:
        BrokenFileError: If the file is empty.
        TokverifyError: If the file does not exist or cannot be read.
    """
    try:
        status = path.stat()
        # subtle: opening a pipe would wait for a writer, so check before opening.
        if stat.S_ISREG(status.st_mode) and status.st_size > 0:
            with path.open("rb") as file:
                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise TokverifyError(f"{path}: no such file; check the path") from None
    except (OSError, ValueError) as error:  # ValueError: a path that contains NUL
        reason = getattr(error, "strerror", None) or error
        raise TokverifyError(f"{path}: cannot be read: {reason}") from None
    if stat.S_ISDIR(status.st_mode):
        raise TokverifyError(f"{path}: is a directory; name the .gguf file inside it")
    if not stat.S_ISREG(status.st_mode):
        raise TokverifyError(f"{path}: is not a regular file; copy its content into one")
    raise BrokenFileError(f"{path}: is empty; download or copy the file again")


class Cursor:
    """A position in a file that cannot leave the file.

    `place` describes in errors what is being read; `order` is struct's character for the byte order.
    """

    def __init__(self, path: Path, data: mmap.mmap) -> None:
        self.path = path
        self.data = data
        self.position = 0
        self.place = "header"
        self.order = "<"

    @property
    def left(self) -> int:
        """The number of bytes from the position to the end of the file."""
        return len(self.data) - self.position

    def damaged(self, problem: str) -> BrokenFileError:
        """Build the error for bytes that are not valid here."""
        return BrokenFileError(f"{self.path}: {self.place}: damaged: {problem}; download or convert the file again")

    def truncated(self, needed: str) -> BrokenFileError:
        """Build the error for a file that ends too early, or for a length that exceeds it."""
        problem = f"truncated: {needed} at byte {self.position}, where {self.left} bytes are left"
        return BrokenFileError(f"{self.path}: {self.place}: {problem}; download or copy the file again")

    def skip(self, length: int) -> None:
        """Skip the next `length` bytes."""
        if length > self.left:
            raise self.truncated(f"needs {length} bytes")
        self.position += length

    def take(self, length: int) -> bytes:
        """Return the next `length` bytes."""
        start = self.position
        self.skip(length)
        return self.data[start : self.position]

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
        length = self.uint64()
        if length > self.left:
            raise self.truncated(f"a string of {length} bytes cannot fit")
        if length > limit:
            raise self.damaged(f"a string of {length} bytes exceeds the limit of {limit}")
        return str(self.take(length), "utf-8", "surrogateescape")

    def strings(self, count: int) -> list[str]:
        """Read `count` strings like `string`."""
        # Gemma 4's vocabulary has 777,000 strings, so this loop avoids calls and lookups.
        data, size, position = self.data, len(self.data), self.position
        length_at = struct.Struct(self.order + "Q").unpack_from
        result: list[str] = []
        try:
            for _ in range(count):
                start = position + 8
                end = start + length_at(data, position)[0]
                if end > size:
                    break
                result.append(str(data[start:end], "utf-8", "surrogateescape"))
                position = end
        except struct.error:  # fewer than 8 bytes left
            pass
        self.position = position
        if len(result) < count:
            raise self.truncated(f"string {len(result)} of {count} (from 0) cannot fit")
        return result

    def numbers(self, type: ValueType, count: int) -> array[Any]:
        """Read `count` values of fixed size into an array in native byte order."""
        result: array[Any] = array("B" if type is ValueType.BOOL else _CODES[type])
        result.frombytes(self.take(count * result.itemsize))
        if (self.order == "<") != (sys.byteorder == "little"):
            result.byteswap()
        return result
