"""Classify why a document is encoded differently, from the ids of both sides alone.

This must be cheap, because one fault can affect every document of a corpus. So only the first `MAX_WINDOWS` stretches
that differ are examined, and each is assigned to the first cause that fits. The full diagnosis and the shrinking of
texts are for the few examples of the final report.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import accumulate, islice, takewhile
from typing import TypeVar

from tokverify.corpus.boundary import pre_tokens_differ
from tokverify.corpus.window import MAX_IDS, Window, find_windows
from tokverify.errors import TokverifyError
from tokverify.report.corpus import CorpusCause
from tokverify.tokenizer import MatchListing, Tokenizer

MAX_WINDOWS = 8

_CONTEXT = 2
_MAX_CONTEXT = 64
_CACHED = 1 << 14
_MAX_REPEATED = 32
_BEGIN = (CorpusCause.BOS_MISSING, CorpusCause.BOS_DOUBLED, CorpusCause.BOS_EXTRA)
_END = (CorpusCause.EOS_MISSING, CorpusCause.EOS_DOUBLED, CorpusCause.EOS_EXTRA)

AROUND = frozenset((*_BEGIN, *_END))
"""The causes that concern what is added around a text."""


class Classifier:
    """Names the causes of differences between two tokenizers.

    Args:
        actual: The tokenizer under test.
        expected: The reference.
    """

    def __init__(self, actual: Tokenizer, expected: Tokenizer) -> None:
        self._sides = Side(actual), Side(expected)
        self._begin = _ids_of(("bos", "cls"), actual, expected)
        self._end = _ids_of(("eos", "sep"), actual, expected)
        self._remember_cause = lru_cache(_CACHED)(self._find_cause)

    def classify(self, actual: Sequence[int], expected: Sequence[int]) -> tuple[CorpusCause, ...]:
        """Return the causes why two lists of ids differ, in the order of `CorpusCause`; none if they are equal."""
        if actual == expected:
            return ()
        found = set[CorpusCause]()
        begins = [_count_leading(ids, self._begin) for ids in (actual, expected)]
        if begins[0] != begins[1]:
            found.add(_compare_counts(begins, _BEGIN))
            actual, expected = actual[begins[0] :], expected[begins[1] :]
        ends = [_count_leading(ids[::-1], self._end) for ids in (actual, expected)]
        if ends[0] != ends[1]:
            found.add(_compare_counts(ends, _END))
            actual, expected = actual[: len(actual) - ends[0]], expected[: len(expected) - ends[1]]
        windows = islice(find_windows(actual, expected), MAX_WINDOWS)
        found.update(self._explain(*_cut(actual, expected, window)) for window in windows)
        return tuple(cause for cause in CorpusCause if cause in found)

    def _explain(self, actual: tuple[int, ...], expected: tuple[int, ...], after: tuple[int, ...]) -> CorpusCause:
        """Return why one stretch of ids replaces another; `after` are the ids that follow on the actual side.

        Only short stretches occur again and again.
        """
        is_short = len(actual) + len(expected) <= _MAX_REPEATED
        return (self._remember_cause if is_short else self._find_cause)(actual, expected, after)

    def _find_cause(self, actual: tuple[int, ...], expected: tuple[int, ...], after: tuple[int, ...]) -> CorpusCause:
        ours, theirs = self._sides
        if ours.added(actual) != theirs.added(expected):
            return CorpusCause.ADDED_TOKEN
        if (ours.unknown in actual) != (theirs.unknown in expected):
            return CorpusCause.UNKNOWN
        content, other = ours.content(actual), theirs.content(expected)
        if content != other:
            return compare_texts(_decode(content), _decode(other))
        return self._compare_segmentation(*self._shorten(actual, expected), after)

    def _shorten(self, actual: Sequence[int], expected: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """Shorten two long lists that represent the same text, to where a token ends on both sides."""
        ours, theirs = self._sides
        ends, other_ends = ours.ends(actual[:MAX_IDS]), theirs.ends(expected[:MAX_IDS])
        if len(actual) == len(ends) and len(expected) == len(other_ends):
            return actual, expected
        last = max({*ends} & {*other_ends}, default=0)
        if not last:
            return actual, expected
        return actual[: bisect(ends, last)], expected[: bisect(other_ends, last)]

    def _compare_segmentation(
        self, actual: Sequence[int], expected: Sequence[int], after: Sequence[int]
    ) -> CorpusCause:
        """Return why the same text becomes different ids."""
        ours, theirs = self._sides
        if ours.has_byte_piece(actual) != theirs.has_byte_piece(expected):
            return CorpusCause.BYTE_FALLBACK
        if ours.pieces(actual) == theirs.pieces(expected):
            return CorpusCause.IDS
        context = _decode(ours.content((*actual, *after)[:_MAX_CONTEXT]))
        splits = pre_tokens_differ(ours.tokenizer, theirs.tokenizer, context)
        return CorpusCause.PRE_TOKENIZATION if splits else CorpusCause.SEGMENTATION


def compare_texts(actual: str, expected: str) -> CorpusCause:
    """Return why the ids of the two sides represent different texts."""
    if unicodedata.normalize("NFKC", actual) == unicodedata.normalize("NFKC", expected):
        return CorpusCause.NORMALIZATION
    ours, theirs = "".join(actual.split()), "".join(expected.split())
    if ours == theirs:
        return CorpusCause.SPACES
    return CorpusCause.CASE if _fold(ours) == _fold(theirs) else CorpusCause.OTHER


def _decode(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def _fold(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(filter(lambda character: not unicodedata.combining(character), decomposed))


def _cut(actual: Sequence[int], expected: Sequence[int], window: Window) -> tuple[tuple[int, ...], ...]:
    """Return the ids of a stretch on each side, and a few actual ids after it."""
    ours = tuple(actual[window.actual_start : window.actual_end])
    theirs = tuple(expected[window.expected_start : window.expected_end])
    return ours, theirs, tuple(actual[window.actual_end : window.actual_end + _CONTEXT])


def _ids_of(roles: Sequence[str], *tokenizers: Tokenizer) -> frozenset[int]:
    ids: Iterator[int | None] = (tokenizer.special_ids.get(role) for tokenizer in tokenizers for role in roles)
    return frozenset(id for id in ids if id is not None)


def _count_leading(ids: Sequence[int], wanted: Collection[int]) -> int:
    return sum(1 for _ in takewhile(partial(_contains, wanted), ids))


def _contains(wanted: Collection[int], id: int) -> bool:
    return id in wanted


def _compare_counts(counts: Sequence[int], causes: Sequence[CorpusCause]) -> CorpusCause:
    """Return the cause if the two sides have the special token this many times."""
    (actual, expected), (missing, doubled, extra) = counts, causes
    if actual < expected:
        return missing
    return doubled if expected else extra


_BYTE_PIECE = re.compile("<0x[0-9A-Fa-f]{2}>")

_Value = TypeVar("_Value")


class _Lookup(dict[int, _Value]):
    """Remembers what a function returns for each id, because documents repeat few ids very often."""

    def __init__(self, find: Callable[[int], _Value]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, id: int) -> _Value:
        value = self[id] = self._find(id)
        return value

    def each(self, ids: Iterable[int]) -> Iterable[_Value]:
        return map(self.__getitem__, ids)


class Side:
    """Describes lists of ids of one tokenizer.

    Args:
        tokenizer: The tokenizer.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.unknown = tokenizer.special_ids.get("unk")
        self._added = _added_ids(tokenizer) - {-1 if self.unknown is None else self.unknown}
        self._bytes = _Lookup(self._find_bytes)
        self._is_byte = _Lookup(lambda id: _BYTE_PIECE.fullmatch(tokenizer.piece(id)) is not None)

    def _find_bytes(self, id: int) -> bytes:
        return self.tokenizer.token_bytes(id) if id < self.tokenizer.vocab_size else b""

    def added(self, ids: Sequence[int]) -> set[str]:
        """Return the stored strings of the added tokens among ids."""
        if self._added.isdisjoint(ids):
            return set()
        return {self.tokenizer.piece(id) for id in self._added.intersection(ids)}

    def has_byte_piece(self, ids: Sequence[int]) -> bool:
        """Check whether any id stands for a single byte."""
        return any(self._is_byte.each(ids))

    def pieces(self, ids: Sequence[int]) -> list[bytes]:
        """Return the bytes that each id represents; none for an id outside the vocabulary."""
        return list(self._bytes.each(ids))

    def content(self, ids: Sequence[int]) -> bytes:
        """Return the bytes that ids represent together."""
        return b"".join(self._bytes.each(ids))

    def ends(self, ids: Sequence[int]) -> list[int]:
        """Return where each id ends in the text, in bytes."""
        return list(accumulate(map(len, self._bytes.each(ids))))


def _added_ids(tokenizer: Tokenizer) -> set[int]:
    try:
        added = tokenizer.added_tokens() if isinstance(tokenizer, MatchListing) else ()
    except TokverifyError:
        added = ()
    return {*added, *tokenizer.special_ids.values()}
