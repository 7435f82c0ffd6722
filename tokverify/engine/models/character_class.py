"""Build character classes for regular expressions that only preselect: a class may contain extra characters.

That makes them fast: `re` uses a bitmap for characters up to U+FFFF, but searches the ranges of those above.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from tokverify.engine.charsmap import character_size

LEAST = (0, 0x80, 0x800, 0x10000)
"""The lowest code points that take 1, 2, 3 and 4 bytes."""
GAP = 1 << 12
"""Above U+FFFF, ranges at most this far apart are merged."""


def character_class(ranges: Iterable[tuple[int, int]], *, negated: bool = False) -> str:
    """Write a class of all characters in the ranges, and perhaps a few more, or of all others if `negated`.

    A range is its first and its last code point.
    """
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + (GAP if merged[-1][0] >= LEAST[3] else 1):
            merged[-1] = merged[-1][0], max(last, merged[-1][1])
        else:
            merged.append((first, last))
    if not merged:
        return r"[\s\S]" if negated else "(?!)"
    items = "".join(f"{_escape(first)}-{_escape(last)}" for first, last in merged)
    return f"[{'^' if negated else ''}{items}]"


def _escape(code_point: int) -> str:
    return f"\\U{code_point:08x}"


def only(character: str) -> tuple[int, int]:
    """Return the range of a single character."""
    return ord(character), ord(character)


def alike(character: str) -> tuple[int, int]:
    """Return the range of all characters that have the same first byte as this one."""
    size = character_size(character.encode()[0])
    bits = 6 * (size - 1)
    first = ord(character) >> bits << bits
    return max(first, LEAST[size - 1]), min(first | (1 << bits) - 1, sys.maxunicode)
