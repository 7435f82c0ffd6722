"""Read many strings of a GGUF file at once, natively if possible: Gemma 4's tokenizer has 777,000."""

from __future__ import annotations

import struct

from tokverify.engine.engine_choice import usable_native_module

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
