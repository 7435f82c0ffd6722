"""Align two texts: line by line, and word by word within the lines that differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain, groupby
from operator import itemgetter

from tokverify.report.chat import TextDifference, TextStretch
from tokverify.text.sequence import common_ends, split_lines

_WORD = re.compile(r"<[^<>\s]+>|\w+|\s|.")
_BETWEEN_WORDS = (" ", "\t")
# The time that SequenceMatcher takes grows with the product of the lengths.
_MAX_PAIRS = 1_000_000


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of both texts; a part that differs may be empty on one side."""

    actual: str
    expected: str

    @property
    def equal(self) -> bool:
        """Whether both texts are the same here."""
        return self.actual == self.expected


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Whole lines of both texts: either all equal, as one stretch, or not."""

    stretches: tuple[Stretch, ...]

    @property
    def equal(self) -> bool:
        """Whether both texts have the same lines here."""
        return all(stretch.equal for stretch in self.stretches)


def compare_texts(actual: str, expected: str) -> list[LineBlock]:
    """Return blocks that cover both texts; very different long texts are one stretch."""
    pairs = _match(split_lines(actual), split_lines(expected))
    return [LineBlock(tuple(_compare_words("".join(ours), "".join(theirs)))) for ours, theirs in pairs]


def to_text_difference(blocks: Sequence[LineBlock]) -> TextDifference:
    """Convert aligned texts to report data."""
    return TextDifference(tuple(tuple(map(_measure, block.stretches)) for block in blocks))


def _measure(stretch: Stretch) -> TextStretch:
    return TextStretch(len(stretch.actual), len(stretch.expected), stretch.equal)


def find_differences(blocks: Sequence[LineBlock]) -> Iterator[tuple[str, Stretch]]:
    """Yield each stretch that differs, preceded by all of the actual text before it."""
    at = 0
    stretches = list(chain.from_iterable(block.stretches for block in blocks))
    text = "".join(stretch.actual for stretch in stretches)
    for stretch in stretches:
        if not stretch.equal:
            yield text[:at], stretch
        at += len(stretch.actual)


def _compare_words(actual: str, expected: str) -> Iterator[Stretch]:
    """Yield equal and differing stretches in turn; differing words with only a space between them form one stretch."""
    pairs = _match(_WORD.findall(actual), _WORD.findall(expected))
    found = [Stretch("".join(ours), "".join(theirs)) for ours, theirs in pairs]
    inner = range(1, len(found) - 1)
    differs = [not one.equal or (at in inner and one.actual in _BETWEEN_WORDS) for at, one in enumerate(found)]
    for _, group in groupby(zip(differs, found, strict=True), key=itemgetter(0)):
        together = [stretch for _, stretch in group]
        yield Stretch("".join(one.actual for one in together), "".join(one.expected for one in together))


def _match(actual: Sequence[str], expected: Sequence[str]) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Split two sequences into pairs of parts that are either equal or have nothing in common; no pair is empty."""
    # subtle: most texts differ in one place; without this, a long text without line ends would take minutes.
    head, tail = common_ends(actual, expected)
    ours, theirs = actual[head : len(actual) - tail], expected[head : len(expected) - tail]
    if head:
        yield actual[:head], expected[:head]
    if len(ours) * len(theirs) > _MAX_PAIRS:
        yield ours, theirs
    else:
        for _, a, a_end, b, b_end in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
            yield ours[a:a_end], theirs[b:b_end]
    if tail:
        yield actual[len(actual) - tail :], expected[len(expected) - tail :]
