"""Compare sequences item by item."""

from __future__ import annotations

from collections.abc import Sequence


def common_length(left: Sequence[object], right: Sequence[object]) -> int:
    """Count the leading items that two sequences share; the index of their first difference."""
    for index, (left_item, right_item) in enumerate(zip(left, right, strict=False)):
        if left_item != right_item:
            return index
    return min(len(left), len(right))
