"""VocabularyDifference: which tokens two vocabularies have at the same ids, but with different bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tokverify.report.fields import Count


@dataclass(frozen=True, slots=True)
class PieceDifference:
    """An id that stands for different bytes on the two sides."""

    id: int
    """The id."""
    actual: str | None
    """The piece on this side; None if it has no such id."""
    expected: str | None
    """The piece on this side; None if it has no such id."""
    is_unused: bool = False
    """Whether the only side that has this id declares the token as unused."""


NEARLY_ALL = 0.9
"""If a larger share of the tokens differs, the reference probably belongs to another model."""


@dataclass(frozen=True, slots=True)
class VocabularyDifference:
    """How two vocabularies differ."""

    actual_size: Count
    """One more than the highest id of the actual side."""
    expected_size: Count
    """One more than the highest id of the expected side."""
    pieces: tuple[PieceDifference, ...] = ()
    """The tokens that differ, in the order of their ids."""
    respelled: Count = 0
    """How many tokens are stored differently but represent the same bytes, such as `"  "` and `▁▁`."""
    special_ids: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Role -> (actual id, expected id), for the roles that both sides define differently."""
