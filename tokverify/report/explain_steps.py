"""The single steps of an explanation: the walk through a charsmap, and a lattice after each position.

Spans and positions are byte offsets.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CharsmapStep:
    """One byte of a search in the charsmap, and the entry of the double array that it leads to."""

    byte: int
    node: int
    """The index of the entry: the base before it, XOR the byte."""
    label: int
    """The byte that the entry belongs to; if it is another one, the search ends."""
    base: int | None
    """The base of the entry's children; None if the search ends here."""
    replacement: str | None
    """The replacement, if a string of the map ends here."""


@dataclass(frozen=True, slots=True)
class CharsmapSearch:
    """The search for the longest string of the charsmap at one or more positions."""

    starts: tuple[int, ...]
    """The positions in the text of the stretch where the search is the same."""
    root: int
    """The base for the first byte."""
    steps: tuple[CharsmapStep, ...]
    length: int
    """How many bytes the longest string has; 0 if there is none."""
    replacement: str | None
    """What replaces them."""


@dataclass(frozen=True, slots=True)
class LatticeEntry:
    """What is known about the text up to one position."""

    end: int
    """The position in the normalized text."""
    id: int
    """The best last piece; the unknown token as long as the position was not reached."""
    start: int
    """Where this piece starts."""
    total: float
    """The best sum; the lowest possible number as long as the position was not reached."""


@dataclass(frozen=True, slots=True)
class LatticeTrial:
    """A piece that fits at the position of a step."""

    id: int
    piece: str
    end: int
    weight: float
    """Its score."""
    total: float
    """The sum of the segmentation that it completes."""
    is_best: bool
    """Whether its sum is greater than all before it, so that it becomes the entry at `end`."""


@dataclass(frozen=True, slots=True)
class LatticeStep:
    """One step from the left: the pieces that start at a position, and the entries after they were tried."""

    start: int
    """The position in the normalized text."""
    trials: tuple[LatticeTrial, ...]
    entries: tuple[LatticeEntry, ...]
    """The entries of all positions that have been reached, ascending, without the beginning."""
