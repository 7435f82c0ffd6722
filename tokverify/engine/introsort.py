"""Sort as `std::sort` of GNU's libstdc++ does, which leaves equal items in an order of its own.

llama.cpp sorts its added tokens with `std::sort`, which is not stable. If tokens of equal length overlap in a text,
their order decides which one is matched. The C++ standard does not specify it, so it depends on the standard library
that llama.cpp was built with. This is the one of builds for Linux, where up to `THRESHOLD` items keep their order.
Builds for macOS and Windows use other libraries, and may order these tokens differently.

Source: `std::__introsort_loop`, `std::__unguarded_partition_pivot` and `std::__partial_sort` in `bits/stl_algo.h` and
`bits/stl_heap.h` of libstdc++, which have been the same since GCC 4.7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

_Item = TypeVar("_Item")

THRESHOLD = 16
"""Ranges of at most this many items are left to the insertion sort at the end."""


def introsort(items: Iterable[_Item], key: Callable[[_Item], int]) -> list[_Item]:
    """Return the items by ascending key, and those with equal keys in the order in which `std::sort` leaves them."""
    entries = [(key(item), item) for item in items]
    _partition_all(entries, 0, len(entries), 2 * (len(entries).bit_length() - 1))
    # libstdc++ finishes with an insertion sort. That is stable, and so is this one.
    entries.sort(key=lambda entry: entry[0])
    return [item for _, item in entries]


def _partition_all(entries: list[tuple[int, _Item]], first: int, last: int, depth: int) -> None:
    """Partition a range until each part is short; after `depth` unbalanced partitions, sort the rest with a heap."""
    while last - first > THRESHOLD:
        if depth == 0:
            entries[first:last] = _heapsort(entries[first:last])
            return
        depth -= 1
        _move_median_to_front(entries, first, last)
        cut = _partition(entries, first, last)
        _partition_all(entries, cut, last, depth)
        last = cut


def _move_median_to_front(entries: list[tuple[int, _Item]], first: int, last: int) -> None:
    """Exchange the first entry with the median of the second, the middle and the last one."""
    second, middle, end = first + 1, first + (last - first) // 2, last - 1
    low, high = (second, middle) if entries[second][0] < entries[middle][0] else (middle, second)
    key = entries[end][0]
    median = high if entries[high][0] < key else end if entries[low][0] < key else low
    entries[first], entries[median] = entries[median], entries[first]


def _partition(entries: list[tuple[int, _Item]], first: int, last: int) -> int:
    """Move entries below the pivot, which is the first one, before those above it; return where the latter begin."""
    pivot = entries[first][0]
    left, right = first + 1, last
    while True:
        # subtle: neither search needs a limit, because the pivot is the median of three entries of the range.
        while entries[left][0] < pivot:
            left += 1
        right -= 1
        while pivot < entries[right][0]:
            right -= 1
        if left >= right:
            return left
        entries[left], entries[right] = entries[right], entries[left]
        left += 1


def _heapsort(entries: list[tuple[int, _Item]]) -> list[tuple[int, _Item]]:
    """Sort entries with a heap that has the highest key on top."""
    size = len(entries)
    for parent in range((size - 2) // 2, -1, -1):
        _sift(entries, parent, size, entries[parent])
    for end in range(size - 1, 0, -1):
        last, entries[end] = entries[end], entries[0]
        _sift(entries, 0, end, last)
    return entries


def _sift(entries: list[tuple[int, _Item]], top: int, size: int, entry: tuple[int, _Item]) -> None:
    """Move the hole at `top` down to a leaf, along the higher children, and from there up to the place of `entry`."""
    hole = top
    while (child := 2 * hole + 2) <= size:
        if child == size or entries[child][0] < entries[child - 1][0]:
            child -= 1
        entries[hole] = entries[child]
        hole = child
    while hole > top and entries[(hole - 1) // 2][0] < entry[0]:
        entries[hole] = entries[(hole - 1) // 2]
        hole = (hole - 1) // 2
    entries[hole] = entry
