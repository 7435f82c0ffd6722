"""Write many ids as few ranges."""

from __future__ import annotations

from collections.abc import Iterable


def id_ranges(ids: Iterable[int], most: int | None = None) -> str:
    """Write ids in ascending order, such as `4-18, 30`; after `most` ranges, only how many ids there are more."""
    ranges: list[list[int]] = []
    for id in sorted(set(ids)):
        if ranges and id == ranges[-1][1] + 1:
            ranges[-1][1] = id
        else:
            ranges.append([id, id])
    shown = ranges[:most]
    left_out = sum(last - first + 1 for first, last in ranges[len(shown) :])
    text = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in shown)
    return f"{text} and {left_out:,} more" if left_out else text
