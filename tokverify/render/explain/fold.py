"""Leave out of an explanation what does not help to read it, and say so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, TypeVar

from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.engine.trace import Stretch, Taken, Word

_MIN_RUN = 3
"""So many words of one token in a row are left out; fewer would hardly be shorter."""
_SPACE_MARK = "▁".encode()

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Fold:
    """Items left out; `what` says how many of which kind."""

    what: str


@dataclass(frozen=True, slots=True)
class Shown:
    """Words to show together: the parts of one pre-token, or of what stands between two spaces.

    `index` is that of the first of them in the stretch.
    """

    index: int
    words: tuple[Word, ...]

    @property
    def tokens(self) -> tuple[Taken, ...]:
        """The tokens of all the words."""
        return tuple(token for word in self.words for token in word.tokens)


def fold_words(stretch: Stretch, differing: frozenset[int], most: int | None) -> list[Shown | Fold]:
    """Choose what to show: what is not one token, and whatever holds a word whose index is in `differing`.

    Not more than `most` are shown, the differing ones first; without a number, all.
    """
    groups = list(_groups(stretch))
    if most is None:
        return [*groups]
    noun = "pre-token" if stretch.trace.pre_tokens and not _has_marks(stretch) else "word"
    folded: list[Shown | Fold] = []
    for interesting, run in groupby(groups, lambda group: len(group.tokens) != 1 or _differs(group, differing)):
        listed = list(run)
        if interesting or len(listed) < _MIN_RUN:
            folded += listed
        else:
            folded.append(Fold(f"{plural(len(listed), noun)} of one token each"))
    return _limited(folded, noun, differing, most)


def _groups(stretch: Stretch) -> Iterator[Shown]:
    data = stretch.trace.rewriting.result
    start = 0
    words = stretch.trace.words
    for index, (before, word) in enumerate(pairwise(words), start=1):
        if word.pre_token != before.pre_token or data.startswith(_SPACE_MARK, word.start):
            yield Shown(start, words[start:index])
            start = index
    if words:
        yield Shown(start, words[start:])


def _has_marks(stretch: Stretch) -> bool:
    return _SPACE_MARK in stretch.trace.rewriting.result


def _differs(group: Shown, differing: frozenset[int]) -> bool:
    return not differing.isdisjoint(range(group.index, group.index + len(group.words)))


def _limited(items: list[Shown | Fold], noun: str, differing: frozenset[int], most: int) -> list[Shown | Fold]:
    groups = [item for item in items if isinstance(item, Shown)]
    if len(groups) <= most + 1:
        return items
    kept = {group.index for group in sorted(groups, key=lambda group: not _differs(group, differing))[:most]}
    limited: list[Shown | Fold] = []
    for is_kept, run in groupby(items, lambda item: isinstance(item, Shown) and item.index in kept):
        listed = list(run)
        left_out = sum(isinstance(item, Shown) for item in listed)
        if is_kept or not left_out:
            limited += listed
        else:
            limited.append(Fold(f"{plural(left_out, f'more {noun}')} of several tokens, and those of one"))
    return limited


def middle_out(items: Sequence[Item], noun: str, most: int) -> list[tuple[int, Item] | Fold]:
    """Return items with their indexes; of more than `most` the middle is left out."""
    numbered: list[tuple[int, Item] | Fold] = list(enumerate(items))
    if len(items) <= most + 1:
        return numbered
    head = most * 3 // 4
    note = Fold(f"{len(items) - most:,} more {noun}")
    return [*numbered[:head], note, *numbered[head - most :]]
