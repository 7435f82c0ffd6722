"""Describe a reference that is damaged."""

from __future__ import annotations

from collections.abc import Sequence

from tokverify.compare.digest import make_difference
from tokverify.report.finding import ERROR
from tokverify.report.tokenizer_difference import BLAME, Aspect, Origin, TokenizerDifference

CODE = "TV213"
"""The rule that reports the same."""
LEAST, LEAST_SHARE = 8, 0.05
"""So many tokens must be affected, and such a share of those that could be."""
OPPOSED = 10
"""As many times more tokens must speak for the model than for the reference."""


def damage_difference(reason: str, ids: Sequence[int] = ()) -> TokenizerDifference:
    """Return the difference that a reference no longer splits texts, or uses its tokens, as it was trained to."""
    return make_difference(Aspect.SPLITTING, ERROR, f"{BLAME}: {reason}", ids, origin=Origin.REFERENCE)
