"""Shrink a failing sample to a minimal one: fewer options, shorter text, simpler characters.

Like the shrinkers of property-based testing, this tries ever simpler samples and continues with each that still fails.
A sample is simpler than another if it has fewer options turned on; or else if its text is shorter; or else if the first
character that differs is simpler. Deletion is delta debugging: ever smaller chunks, from the end to the beginning.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable
from functools import cache
from itertools import chain, islice

from tokverify.texts.sample import Sample

MAX_CALLS = 1500
"""The maximum number of samples to try; a text of 100 characters needs about 300."""

_THOROUGH_LENGTH = 24
_SIMPLEST = "a b0A.\n\t"
_ASCII = 0x7F


def shrink(sample: Sample, fails: Callable[[Sample], bool], *, max_calls: int = MAX_CALLS) -> Sample:
    """Return the simplest sample found that still fails; `fails(sample)` must be true."""
    shrinker = _Shrinker(sample, fails, max_calls)
    before = None
    while shrinker.best != before:
        before = shrinker.best
        shrinker.drop_options()
        shrinker.delete_chunks()
        shrinker.simplify_characters()
        shrinker.delete_substrings()
    return shrinker.best


class _Shrinker:
    def __init__(self, sample: Sample, fails: Callable[[Sample], bool], max_calls: int) -> None:
        self.best = sample
        self._fails = fails
        self._seen = {sample}
        self._max_samples = max_calls + 1

    def _take(self, candidate: Sample) -> bool:
        """Continue with `candidate` if it fails too; return whether it does."""
        if candidate in self._seen or len(self._seen) >= self._max_samples:
            return False
        self._seen.add(candidate)
        if self._fails(candidate):
            self.best = candidate
            return True
        return False

    def _take_text(self, text: str) -> bool:
        return self._take(self.best._replace(text=text))

    def drop_options(self) -> None:
        """Turn off both options, or one of them."""
        text, add_special, parse_special = self.best
        fewer = ((False, False), (False, parse_special), (add_special, False))
        any(self._take(Sample(text, *options)) for options in fewer)

    def delete_chunks(self) -> None:
        """Delete chunks: the whole text, halves, quarters, down to single characters."""
        size = len(self.best.text)
        while size:
            for end in range(len(self.best.text), 0, -size):
                text = self.best.text
                self._take_text(text[: max(0, end - size)] + text[end:])
            size //= 2

    def simplify_characters(self) -> None:
        """Replace characters by simpler ones: every occurrence at once, then one at a time."""
        for character in dict.fromkeys(self.best.text):
            any(self._take_text(self.best.text.replace(character, simpler)) for simpler in _simpler(character))
        for index, character in enumerate(self.best.text):
            text = self.best.text
            any(self._take_text(text[:index] + simpler + text[index + 1 :]) for simpler in _simpler(character))

    def delete_substrings(self) -> None:
        """Delete any substring of a short text, or replace it by its simplest character."""
        if len(self.best.text) > _THOROUGH_LENGTH:
            return
        for size in range(len(self.best.text), 0, -1):
            for start in range(len(self.best.text) - size, -1, -1):
                text = self.best.text
                substring, rest = text[start : start + size], text[start + size :]
                if not self._take_text(text[:start] + rest) and size > 1:
                    self._take_text(text[:start] + min(substring, key=_rank, default="") + rest)


@cache
def _simpler(character: str) -> tuple[str, ...]:
    """Return simpler characters that may have the same effect: common ones, and related ones."""
    base = unicodedata.normalize("NFD", character)[0]
    # NUL is excluded because it has other effects.
    firsts = filter(lambda first: first != "\0", _first_of(unicodedata.category(character)))
    candidates = (*_SIMPLEST, base, character.lower()[:1], *firsts)
    return tuple(dict.fromkeys(candidate for candidate in candidates if _rank(candidate) < _rank(character)))


@cache
def _first_of(category: str) -> tuple[str, ...]:
    """Return the first character of a category, and the first one after ASCII that begins a stretch of it."""
    starts = (
        code
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) == category != (code and unicodedata.category(chr(code - 1)))
    )
    first = next(starts)
    return tuple(map(chr, (first, *islice((code for code in chain([first], starts) if code > _ASCII), 1))))


def _rank(character: str) -> tuple[int, str]:
    at = _SIMPLEST.find(character)
    return (at if at >= 0 else len(_SIMPLEST), character)
