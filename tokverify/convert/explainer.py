"""Explain differences: try them again without what is lost between two formats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tokverify.fuzz.trial import Trial
from tokverify.report.fuzz import DifferenceKind

if TYPE_CHECKING:
    from tokverify.convert.loss import Loss
    from tokverify.fuzz.trial import TrialOutcome
    from tokverify.tokenizer import Tokenizer

    Without = Callable[[Sequence[Loss]], tuple[Tokenizer, Tokenizer]]


class Explainer:
    """Tells which of these `losses` explain an outcome.

    `without` takes some of them out of both sides of the comparison, and returns the two. These are kept, as making a
    tokenizer takes the most time.
    """

    def __init__(self, losses: Sequence[Loss], without: Without) -> None:
        self.losses = losses
        self._without = without
        self._made: dict[tuple[int, ...], Trial] = {}

    def left(self, differing: Sequence[TrialOutcome]) -> list[TrialOutcome]:
        """Return those outcomes that all losses together do not explain."""
        return self._left(differing, tuple(range(len(self.losses))))

    def left_by(self, index: int, differing: Sequence[TrialOutcome]) -> list[TrialOutcome]:
        """Return those outcomes that one loss alone does not explain."""
        return self._left(differing, (index,))

    def reason(self, outcome: TrialOutcome) -> str | None:
        """Say what explains an outcome, if anything does."""
        for index, loss in enumerate(self.losses):
            if not self.left_by(index, [outcome]):
                return loss.sentence
        return None if self.left([outcome]) else "several of these together"

    def _left(self, differing: Sequence[TrialOutcome], indices: tuple[int, ...]) -> list[TrialOutcome]:
        losses = [self.losses[index] for index in indices]
        remaining = list(zip(differing, differing, strict=True))
        if differing and any(loss.undo for loss in losses):
            if indices not in self._made:
                self._made[indices] = Trial(*self._without(losses))
            again = self._made[indices].run([outcome.sample for outcome in differing])
            remaining = [(outcome, other) for outcome, other in zip(differing, again, strict=True) if other]
        return [outcome for outcome, other in remaining if not _is_excused(other, losses)]


def _is_excused(outcome: TrialOutcome, losses: Sequence[Loss]) -> bool:
    return outcome.kind is DifferenceKind.IDS and any(
        loss.excuse(outcome.actual, outcome.expected) for loss in losses if loss.excuse
    )
