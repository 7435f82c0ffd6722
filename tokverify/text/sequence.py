"""Compare sequences item by item."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, count
from operator import ne


def common_length(left: Sequence[object], right: Sequence[object]) -> int:
    """Count the leading items that two sequences share; the index of their first difference."""
    differences = compress(count(), map(ne, left, right))
    return next(differences, min(len(left), len(right)))
