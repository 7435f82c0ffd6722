"""What there is to say about a vocabulary that was trained, and about one that cannot be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.errors import TokverifyError

if TYPE_CHECKING:
    from tokverify.train.trainer import TrainingPlan


def too_few(plan: TrainingPlan, size: int) -> tuple[str, ...]:
    """Tell that a vocabulary came out smaller than it was to be, if it did."""
    if size >= plan.vocab_size:
        return ()
    return (f"the corpus gives no more than {size:,} of the {plan.vocab_size:,} tokens asked for",)


def require_size(plan: TrainingPlan, fixed: int, what: str) -> None:
    """Fail if the vocabulary cannot even hold the tokens that are fixed; `what` names those.

    Raises:
        TokverifyError: With the smallest size that is possible.
    """
    if plan.vocab_size < fixed:
        raise TokverifyError(
            f"a vocabulary of {plan.vocab_size:,} tokens is too small: {what} take {fixed:,}; ask for more"
        )
