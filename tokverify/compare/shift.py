"""Recognize that an insertion or a deletion has moved the tokens of a vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tokverify.engine.joined_strings import find_changed

_Value = TypeVar("_Value")

MOST = 16
"""The most tokens that an insertion or a deletion is expected to consist of."""
LEAST_MOVED = 8
"""Fewer tokens may seem to be moved by accident."""
AGREEMENT = 0.9
"""The share of the moved tokens that must agree with the reference afterwards."""


@dataclass(frozen=True, slots=True)
class Shift:
    """Where our tokens begin to be moved, and by how many ids."""

    at: int
    count: int
    """How many tokens were inserted, or how many were deleted."""
    is_insertion: bool
    size: int
    """The number of tokens that there should be."""

    def undo(self, values: Sequence[_Value], fill: Callable[[int], _Value]) -> list[_Value]:
        """Move values back; `fill` returns the value of an id that has none."""
        before, after = values[: self.at], values[self.at :]
        lacking = [] if self.is_insertion else [fill(id) for id in range(self.at, self.at + self.count)]
        moved = [*before, *lacking, *(after[self.count :] if self.is_insertion else after)][: self.size]
        return [*moved, *(fill(id) for id in range(len(moved), self.size))]

    def move_id(self, id: int) -> int:
        """Return the id of a token after the shift is undone; of a token that should not exist, the same id."""
        if id < self.at + (self.count if self.is_insertion else 0):
            return id
        moved = id - self.count if self.is_insertion else id + self.count
        return moved if moved < self.size else id


def find_shift(ours: Sequence[object], theirs: Sequence[object]) -> Shift | None:
    """Recognize an insertion or a deletion by the first difference of two vocabularies; None if it is neither."""
    at = next(iter(find_changed(ours, theirs)), min(len(ours), len(theirs)))
    for count in range(1, MOST + 1):
        for is_insertion in (True, False):
            left, right = (at + count, at) if is_insertion else (at, at + count)
            if _agree(ours, left, theirs, right):
                is_cut = abs(len(ours) - len(theirs)) <= count
                size = len(theirs) if is_cut else len(ours) - count * (1 if is_insertion else -1)
                return Shift(at, count, is_insertion, size)
    return None


def _agree(ours: Sequence[object], left: int, theirs: Sequence[object], right: int) -> bool:
    """Whether nearly everything from these two places on is the same."""
    size = min(len(ours) - left, len(theirs) - right)
    # The beginning is compared first, because it rules out nearly all candidates.
    beginning = map(_equal, ours[left : left + LEAST_MOVED], theirs[right : right + LEAST_MOVED])
    return (
        size >= LEAST_MOVED
        and sum(beginning) > LEAST_MOVED // 2
        and sum(map(_equal, ours[left:], theirs[right:])) >= AGREEMENT * size
    )


def _equal(left: object, right: object) -> bool:
    return left == right
