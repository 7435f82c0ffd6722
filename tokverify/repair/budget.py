"""Budget: how many texts a search may encode. Unlike time, this does not depend on what else the machine does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tokverify.repair.evidence import Goal

ENCODINGS = 120_000
"""The default limit of a diagnosis: about ten seconds with a vocabulary of a usual size."""
THOROUGH = 20 * ENCODINGS
_LONG = 100
"""The number of tokens from which on a text counts twice, and so on."""
_HUGE, _HUGE_FACTOR = 100_000, 4
"""The number of tokens from which on a text is so long that handling its ids costs more than encoding, and how much."""
_TOKENS_PER_ENCODING = 50
"""To build the model of a vocabulary takes as long as to encode one text for this many tokens."""


@dataclass(slots=True)
class Budget:
    """The encodings that are left."""

    left: int = ENCODINGS
    whole: Budget | None = None
    """The budget that this is a part of; whatever is spent is also spent there."""

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left."""
        return self.left <= 0

    def part(self, most: int) -> Budget:
        """Return a part of what is left, at most `most`."""
        return Budget(min(most, self.left), self)

    def spend(self, encodings: int) -> None:
        """Account for encodings."""
        self.left -= encodings
        if self.whole:
            self.whole.spend(encodings)

    def spend_on(self, goals: Sequence[Goal]) -> None:
        """Account for texts that were encoded, or ids that were decoded; long ones count several times."""
        self.spend(sum(map(_cost, goals)))

    def spend_on_model(self, vocab_size: int) -> None:
        """Account for a model that was built."""
        self.spend(vocab_size // _TOKENS_PER_ENCODING)


def _cost(goal: Goal) -> int:
    factor = _HUGE_FACTOR if goal.size >= _HUGE else 1
    return 1 + factor * (goal.size // _LONG)
