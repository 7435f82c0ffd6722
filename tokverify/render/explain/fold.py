"""Leave out the parts of an explanation that do not help the reader, and note how much was left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, TypeVar

from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.report.explain import Stretch, Word

_MIN_RUN = 3
"""Runs of at least this many single-token words are left out; for shorter ones the note would not be shorter."""
_SPACE_MARK = "▁"

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Fold:
    """Items left out."""

    description: str
    """How many items of which kind, such as `5 words of one token each`."""


@dataclass(frozen=True, slots=True)
class WordGroup:
    """Words that are shown together: the parts of one pre-token, or of the text between two spaces."""

    index: int
    """The index of the first word in its stretch."""
    words: tuple[Word, ...]

    @property
    def pieces(self) -> list[str]:
        """The pieces of all words."""
        return [piece for word in self.words for piece in word.pieces]


def fold_words(stretch: Stretch, differing: frozenset[int], limit: int | None) -> list[WordGroup | Fold]:
    """Choose what to show: groups of several tokens, and those with a word whose index is in `differing`.

    At most `limit` groups are kept, the differing ones first; all groups where `limit` is None.
    """
    groups = list(_group_words(stretch))
    if limit is None:
        return [*groups]
    noun = "pre-token" if stretch.pre_tokens and _SPACE_MARK not in stretch.normalized else "word"
    folded: list[WordGroup | Fold] = []
    for is_shown, run in groupby(groups, lambda group: len(group.pieces) != 1 or _differs(group, differing)):
        members = list(run)
        if is_shown or len(members) < _MIN_RUN:
            folded += members
        else:
            folded.append(Fold(f"{plural(len(members), noun)} of one token each"))
    return _limit_groups(folded, noun, differing, limit)


def _group_words(stretch: Stretch) -> Iterator[WordGroup]:
    start = 0
    for index, (before, word) in enumerate(pairwise(stretch.words), start=1):
        if word.pre_token != before.pre_token or word.text.startswith(_SPACE_MARK):
            yield WordGroup(start, stretch.words[start:index])
            start = index
    if stretch.words:
        yield WordGroup(start, stretch.words[start:])


def _differs(group: WordGroup, differing: frozenset[int]) -> bool:
    return not differing.isdisjoint(range(group.index, group.index + len(group.words)))


def _limit_groups(
    items: list[WordGroup | Fold], noun: str, differing: frozenset[int], limit: int
) -> list[WordGroup | Fold]:
    groups = [item for item in items if isinstance(item, WordGroup)]
    if len(groups) <= limit + 1:
        return items
    by_interest = sorted(groups, key=lambda group: not _differs(group, differing))
    kept = {group.index for group in by_interest[:limit]}
    limited: list[WordGroup | Fold] = []
    for is_kept, run in groupby(items, lambda item: isinstance(item, WordGroup) and item.index in kept):
        members = list(run)
        left_out = sum(isinstance(item, WordGroup) for item in members)
        if is_kept or not left_out:
            limited += members
        else:
            limited.append(Fold(f"{plural(left_out, f'more {noun}')} of several tokens, and those of one"))
    return limited


def fold_middle(items: Sequence[Item], noun: str, limit: int) -> list[tuple[int, Item] | Fold]:
    """Return items with their indexes; of more than `limit`, leave out the middle."""
    numbered: list[tuple[int, Item] | Fold] = list(enumerate(items))
    if len(items) <= limit + 1:
        return numbered
    head = limit * 3 // 4
    note = Fold(f"{len(items) - limit:,} more {noun}")
    return [*numbered[:head], note, *numbered[head - limit :]]
