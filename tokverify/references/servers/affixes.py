"""The ids that a server adds around every text, whether asked to or not: found by its encoding of the empty text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tokverify.text.sequence import common_length


class Affixes(NamedTuple):
    """What a server adds around every text."""

    before: list[int]
    after: int
    """How many ids it adds after a text."""

    def strip(self, ids: list[int]) -> list[int]:
        """Remove from an encoded text what was added around it."""
        return ids[len(self.before) : len(ids) - self.after]

    def complete(self, ids: Sequence[int]) -> list[int]:
        """Put back what was removed before a text, unless it is there."""
        is_whole = list(ids[: len(self.before)]) == self.before
        return [*([] if is_whole else self.before), *ids]


def find_affixes(empty: list[int], text: list[int]) -> Affixes:
    """Return what is added to every text, given the ids of the empty text and of another one."""
    before = common_length(empty, text)
    return Affixes(empty[:before], len(empty) - before)
