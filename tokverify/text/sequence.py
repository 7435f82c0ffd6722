"""Compare sequences item by item, thin them out, group pairs, and split texts into batches, or a text into lines."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence, Sized
from itertools import compress, count
from operator import ne
from typing import TypeVar

_Item = TypeVar("_Item")
_Key = TypeVar("_Key", bound=Hashable)
_Text = TypeVar("_Text", bound=Sized)

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def common_length(left: Sequence[object], right: Sequence[object]) -> int:
    """Count the leading items that two sequences share; the index of their first difference."""
    differences = compress(count(), map(ne, left, right))
    return next(differences, min(len(left), len(right)))


def common_ends(left: Sequence[object], right: Sequence[object]) -> tuple[int, int]:
    """Count the leading items that two sequences share, and the trailing ones of what follows these."""
    start = common_length(left, right)
    return start, common_length(left[start:][::-1], right[start:][::-1])


def thin_out(items: Sequence[_Item], most: int) -> Sequence[_Item]:
    """Return at most that many items, evenly spread."""
    return items[:: max(-(-len(items) // most), 1)]


def group_values(pairs: Iterable[tuple[_Key, _Item]]) -> dict[_Key, list[_Item]]:
    """Return the values of each key, in the order in which they come."""
    values: dict[_Key, list[_Item]] = {}
    for key, value in pairs:
        values.setdefault(key, []).append(value)
    return values


def split_batches(texts: Sequence[_Text], max_texts: int, max_characters: int) -> Iterator[Sequence[_Text]]:
    """Split texts into batches of limited size; a text that is longer than a batch may be has one of its own."""
    start = characters = 0
    for at, text in enumerate(texts):
        if at > start and (at - start >= max_texts or characters + len(text) > max_characters):
            yield texts[start:at]
            start, characters = at, 0
        characters += len(text)
    if start < len(texts):
        yield texts[start:]


def pack(items: Iterable[_Item], size_of: Callable[[_Item], int], least: float) -> Iterator[list[_Item]]:
    """Group neighboring items, each group as soon as the sizes of its items reach `least`; the last one may not."""
    group: list[_Item] = []
    size = 0
    for item in items:
        group.append(item)
        size += size_of(item)
        if size >= least:
            yield group
            group, size = [], 0
    if group:
        yield group


def find_moved(keys: Sequence[tuple[float, ...]]) -> list[int]:
    """Return the indices of the fewest items without which the others are in strictly ascending order."""
    lowest: list[tuple[float, ...]] = []
    """The last item of the best ascending sequence of each length."""
    ends: list[int] = []
    before: list[int] = []
    for index, key in enumerate(keys):
        if not lowest or key > lowest[-1]:
            # Most items are in order.
            before.append(ends[-1] if ends else -1)
            lowest.append(key)
            ends.append(index)
            continue
        length = bisect_left(lowest, key)
        before.append(ends[length - 1] if length else -1)
        lowest[length], ends[length] = key, index
    kept: set[int] = set()
    index = ends[-1] if ends else -1
    while index >= 0:
        kept.add(index)
        index = before[index]
    return [index for index in range(len(keys)) if index not in kept]


def split_lines(text: str) -> list[str]:
    """Split a text after each line feed.

    Unlike `str.splitlines`, this does not split at form feeds, U+2028 and other separators.
    """
    return _LINE.findall(text)
