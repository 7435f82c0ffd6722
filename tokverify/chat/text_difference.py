"""Compare two texts: line by line first, and within the lines that differ word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain, groupby
from operator import itemgetter

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_WORD = re.compile(r"<[^<>\s]+>|\w+|\s|.")
_BETWEEN_WORDS = (" ", "\t")
# What SequenceMatcher does for two sequences grows with the product of their lengths.
_MOST_PAIRS = 1_000_000


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of both texts, equal or not; what differs may be empty on one side."""

    actual: str
    expected: str

    @property
    def equal(self) -> bool:
        """Whether both sides have the same."""
        return self.actual == self.expected


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines of both texts, all equal (one stretch) or not."""

    stretches: tuple[Stretch, ...]

    @property
    def equal(self) -> bool:
        """Whether both sides have the same lines."""
        return all(stretch.equal for stretch in self.stretches)


def compare_texts(actual: str, expected: str) -> list[Block]:
    """Return blocks that tile both texts; of two very different long ones, what differs is one stretch."""
    ours, theirs = lines_of(actual), lines_of(expected)
    return [Block(tuple(_stretches("".join(a), "".join(b)))) for a, b in _matched(ours, theirs)]


def lines_of(text: str) -> list[str]:
    """Cut a text after each newline, and only there."""
    return _LINE.findall(text)


def differing(blocks: Sequence[Block]) -> Iterator[tuple[str, Stretch]]:
    """Yield the stretches that differ, each after the actual text that is before it."""
    at = 0
    text = "".join(stretch.actual for block in blocks for stretch in block.stretches)
    for stretch in chain.from_iterable(block.stretches for block in blocks):
        if not stretch.equal:
            yield text[:at], stretch
        at += len(stretch.actual)


def _stretches(actual: str, expected: str) -> Iterator[Stretch]:
    """Yield equal and differing stretches in turn; words that differ, with only a space between, are one."""
    pairs = _matched(_WORD.findall(actual), _WORD.findall(expected))
    found = [Stretch("".join(ours), "".join(theirs)) for ours, theirs in pairs]
    inner = range(1, len(found) - 1)
    differs = [not one.equal or (at in inner and one.actual in _BETWEEN_WORDS) for at, one in enumerate(found)]
    for _, group in groupby(zip(differs, found, strict=True), key=itemgetter(0)):
        together = [stretch for _, stretch in group]
        yield Stretch("".join(one.actual for one in together), "".join(one.expected for one in together))


def _matched(actual: Sequence[str], expected: Sequence[str]) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Cut two sequences into pairs of parts that are equal, or have nothing in common; no pair is empty."""
    # subtle: most texts differ in one place, and a long one without a line end would take minutes without this.
    least = min(len(actual), len(expected))
    head = next((i for i in range(least) if actual[i] != expected[i]), least)
    tail = next((i for i in range(least - head) if actual[-1 - i] != expected[-1 - i]), least - head)
    ours, theirs = actual[head : len(actual) - tail], expected[head : len(expected) - tail]
    if head:
        yield actual[:head], expected[:head]
    if len(ours) * len(theirs) > _MOST_PAIRS:
        yield ours, theirs
    else:
        for _, a, a_end, b, b_end in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
            yield ours[a:a_end], theirs[b:b_end]
    if tail:
        yield actual[len(actual) - tail :], expected[len(expected) - tail :]
