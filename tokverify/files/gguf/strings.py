"""Read many strings of a GGUF file at once, natively if possible: Gemma 4's vocabulary has 777,000."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TypeAlias

from tokverify.engine.engine_choice import usable_native_module

LENGTH_SIZE = 8
"""The size in bytes of the length before each string."""

StringReader: TypeAlias = Callable[[bytes, int, bool, int, list[str]], int]
"""Takes what `read_strings` takes."""


def string_reader() -> StringReader:
    """Return the fastest function that does what `read_strings` does."""
    module = usable_native_module()
    return module.read_strings if module else read_strings


def read_strings(window: bytes, position: int, is_big_endian: bool, count: int, result: list[str]) -> int:
    """Append up to `count` strings of `window` to `result`, from `position` on.

    Only strings that end inside the window are read. Bytes that are not UTF-8 become lone surrogates.

    Returns:
        The position after the last string.
    """
    size = len(window)
    length_at = struct.Struct(">Q" if is_big_endian else "<Q").unpack_from
    last = len(result) + count
    # This loop avoids calls and lookups.
    while len(result) < last and position + LENGTH_SIZE <= size:
        begin = position + LENGTH_SIZE
        end = begin + length_at(window, position)[0]
        if end > size:
            break
        result.append(str(window[begin:end], "utf-8", "surrogateescape"))
        position = end
    return position
