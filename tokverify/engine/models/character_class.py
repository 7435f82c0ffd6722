"""Classes of characters for regular expressions that only preselect: a class may hold more than it was asked for.

That makes them fast: `re` looks characters up to U+FFFF up in a bitmap, but walks through the ranges of those above.
"""

from __future__ import annotations

from collections.abc import Iterable

from tokverify.engine.charsmap import character_size

LEAST = (0, 0x80, 0x800, 0x10000)
"""The least code point that takes 1, 2, 3, 4 bytes."""
GAP = 1 << 12
"""Above U+FFFF, ranges that are no further apart become one."""


def character_class(ranges: Iterable[tuple[int, int]], *, negated: bool = False) -> str:
    """Write a class of all characters in some range, and perhaps a few more, or of all others.

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
    return f"[{'^' if negated else ''}{''.join(f'{_escape(first)}-{_escape(last)}' for first, last in merged)}]"


def _escape(code_point: int) -> str:
    return f"\\U{code_point:08x}"


def only(character: str) -> tuple[int, int]:
    """Return the range that holds one character."""
    return ord(character), ord(character)


def alike(character: str) -> tuple[int, int]:
    """Return the range of all characters whose first byte is that of this one."""
    size = character_size(character.encode()[0])
    bits = 6 * (size - 1)
    first = ord(character) >> bits << bits
    return max(first, LEAST[size - 1]), first | (1 << bits) - 1
