"""Trial: what changes achieve when they are made together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from tokverify.engine.encoder import Encoder
from tokverify.repair.change import TokenizerChange

if TYPE_CHECKING:
    from tokverify.repair.evidence import Goal

BROKEN_WEIGHT = 4
"""A wrong file matches some cases by accident, so a change may break these if it explains this many times as many."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Changes that were tried together."""

    parts: tuple[TokenizerChange, ...]
    encoder: Encoder
    explained: frozenset[str]
    """The names of the failing cases that match with them."""
    broken: frozenset[str]
    """The names of the matching cases that fail with them."""
    distance: int
    """How much the results of the sample still differ from the expected ones."""

    @property
    def change(self) -> TokenizerChange:
        """All of the changes as one."""
        return reduce(TokenizerChange.then, self.parts)

    @property
    def weight(self) -> int:
        """The evidence for the changes, less the evidence against them."""
        return len(self.explained) - BROKEN_WEIGHT * len(self.broken)

    @property
    def rank(self) -> tuple[float, ...]:
        """Order explanations, best first."""
        return -self.weight, not self.change.expressible, self.change.cost

    @property
    def promise(self) -> tuple[float, ...]:
        """Order combinations by how much an additional change may achieve, best first."""
        return -self.weight, self.distance, self.change.cost


def is_reached(goal: Goal, encoder: Encoder) -> bool:
    """Whether an encoder returns what a case expects."""
    return goal.outcome(encoder) == goal.expected


def distance(outcome: Sequence[int] | None, expected: Sequence[int]) -> int:
    """Return a measure of how much ids or bytes differ from the expected ones; 0 only if they are equal."""
    if outcome is None:
        return len(expected) + 2
    if outcome == expected:
        return 0
    actual_counts, expected_counts = Counter(outcome), Counter(expected)
    return 1 + sum((actual_counts - expected_counts).values()) + sum((expected_counts - actual_counts).values())
