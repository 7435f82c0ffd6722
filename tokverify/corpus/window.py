"""Find the places where two lists of ids differ, without aligning them as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tokverify.text.sequence import common_length

MAX_IDS = 256
"""The longest stretch, in ids, that is searched for the place where two sides agree again."""

_AGREEMENT = 3
_SEARCHED = (16, 64, MAX_IDS)


class Window(NamedTuple):
    """A stretch of ids on each side that replaces the other; all are indexes, and the ends are exclusive."""

    actual_start: int
    actual_end: int
    expected_start: int
    expected_end: int


def find_windows(actual: Sequence[int], expected: Sequence[int]) -> Iterator[Window]:
    """Yield the stretches that differ, from the beginning.

    A stretch ends where three ids agree again, or at the end of both lists. If they do not agree again within
    `MAX_IDS` ids, it extends to the part that both lists have in common at their ends.
    """
    ours = theirs = 0
    while True:
        same = common_length(actual[ours:], expected[theirs:])
        ours, theirs = ours + same, theirs + same
        if ours == len(actual) and theirs == len(expected):
            return
        lengths = _find_agreement(actual[ours : ours + MAX_IDS], expected[theirs : theirs + MAX_IDS])
        if lengths is None:
            end = common_length(actual[:ours:-1], expected[:theirs:-1])
            yield Window(ours, len(actual) - end, theirs, len(expected) - end)
            return
        yield Window(ours, ours + lengths[0], theirs, theirs + lengths[1])
        ours, theirs = ours + lengths[0], theirs + lengths[1]


def _find_agreement(actual: Sequence[int], expected: Sequence[int]) -> tuple[int, int] | None:
    """Return the shortest lengths after which both sides agree; None if they do not within these ids.

    They usually agree soon, so few ids are searched first.
    """
    for size in _SEARCHED:
        best = _search(actual[:size], expected[:size])
        if best and sum(best) + _AGREEMENT <= size:  # no other place can be closer
            return best
    if best is None and len(actual) < MAX_IDS and len(expected) < MAX_IDS:
        end = common_length(actual[::-1], expected[::-1])
        return len(actual) - end, len(expected) - end
    return best


def _search(actual: Sequence[int], expected: Sequence[int]) -> tuple[int, int] | None:
    first: dict[tuple[int, ...], int] = {}
    for place, ids in enumerate(_successive(expected)):
        first.setdefault(ids, place)
    best: tuple[int, int] | None = None
    for place, ids in enumerate(_successive(actual)):
        if best and place >= sum(best):
            break
        other = first.get(ids)
        if other is not None and (best is None or place + other < sum(best)):
            best = place, other
    return best


def _successive(ids: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield each id with those after it that have to agree, too."""
    return zip(*(ids[start:] for start in range(_AGREEMENT)), strict=False)
