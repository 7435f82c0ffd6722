"""Classify why a document is encoded differently, from the ids of both sides alone.

This must be cheap, because one fault can affect every document of a corpus. So only the first `MAX_WINDOWS` stretches
that differ are examined, and each is assigned to the first cause that fits. The full diagnosis and the shrinking of
texts are for the few examples of the final report.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, islice, takewhile
from typing import NamedTuple, TypeVar

from tokverify.corpus.coverage import pre_tokenizer_of
from tokverify.engine.encoder import Encoder
from tokverify.engine.pre_token import trace_pre_tokens
from tokverify.engine.special_text import BYTE_PIECE
from tokverify.engine.trace import Stretch
from tokverify.errors import TokverifyError
from tokverify.report.corpus import CorpusCause
from tokverify.text.sequence import common_length
from tokverify.text.utf8 import to_text
from tokverify.tokenizer import MatchListing, Staged, Tokenizer

MAX_WINDOWS = 8

_CONTEXT = 2
_MAX_CONTEXT = 64
_CACHED = 1 << 14
_MAX_REPEATED = 32
_BEGIN = (CorpusCause.BOS_MISSING, CorpusCause.BOS_DOUBLED, CorpusCause.BOS_EXTRA)
_END = (CorpusCause.EOS_MISSING, CorpusCause.EOS_DOUBLED, CorpusCause.EOS_EXTRA)

AROUND = frozenset((*_BEGIN, *_END))
"""The causes that concern what is added around a text."""

MAX_IDS = 256
"""The longest stretch, in ids, that is searched for the place where two sides agree again."""

_AGREEMENT = 3
_SEARCHED = (16, 64, MAX_IDS)


class Classifier:
    """Names the causes of differences between two tokenizers."""

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
            return compare_texts(to_text(content), to_text(other))
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
        context = to_text(ours.content((*actual, *after)[:_MAX_CONTEXT]))
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
    return sum(1 for _ in takewhile(wanted.__contains__, ids))


def _compare_counts(counts: Sequence[int], causes: Sequence[CorpusCause]) -> CorpusCause:
    """Return the cause if the two sides have the special token this many times."""
    (actual, expected), (missing, doubled, extra) = counts, causes
    if actual < expected:
        return missing
    return doubled if expected else extra


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
    """Describes lists of ids of one tokenizer."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.unknown = tokenizer.special_ids.get("unk")
        self._added = _added_ids(tokenizer) - {-1 if self.unknown is None else self.unknown}
        self._bytes = _Lookup(self._find_bytes)
        self._is_byte = _Lookup(lambda id: BYTE_PIECE.fullmatch(tokenizer.piece(id)) is not None)

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


def pre_tokens_differ(actual: Tokenizer, expected: Tokenizer, text: str) -> bool:
    """Compare the pre-tokens of a text, as far as the tokenizers show them.

    If only one side shows them, a token of the other side that crosses one of their boundaries is a difference. Lone
    surrogates stand for bytes that are not UTF-8 (`surrogateescape`); they are ignored.
    """
    text = text.encode("utf-8", "surrogateescape").decode(errors="replace")
    sides = [(tokenizer, _find_boundaries(tokenizer, text)) for tokenizer in (actual, expected)]
    (ours, our_ends), (theirs, their_ends) = sides
    if our_ends and their_ends:
        return our_ends != their_ends
    if our_ends:
        return not our_ends <= token_ends(theirs, text)
    return bool(their_ends) and not their_ends <= token_ends(ours, text)


def _find_boundaries(tokenizer: Tokenizer, text: str) -> set[int]:
    """Return the byte offset of the end of each pre-token; none if the tokenizer does not show its pre-tokens."""
    try:
        if isinstance(tokenizer, Encoder):
            return _encoder_boundaries(tokenizer, text)
        if isinstance(tokenizer, Staged):
            return _staged_boundaries(tokenizer, text)
    except TokverifyError:
        pass
    return set()


def token_ends(tokenizer: Tokenizer, text: str) -> set[int]:
    """Return the byte offset of the end of each token."""
    try:
        ids = tokenizer.encode(text, add_special=False, parse_special=True)
        return set(_ends(map(tokenizer.token_bytes, ids)))
    except TokverifyError:
        return set()


def _encoder_boundaries(encoder: Encoder, text: str) -> set[int]:
    pre_tokenizer = pre_tokenizer_of(encoder)
    if pre_tokenizer is None:
        return set()
    # Tracing the whole encoder takes much longer.
    if not any(added in text for added in encoder.added_texts):
        return {pre_token.end for _, pre_token in trace_pre_tokens(pre_tokenizer, text)}
    ends: set[int] = set()
    for fragment in encoder.trace(text).fragments:
        if isinstance(fragment, Stretch):
            ends.update(fragment.start + pre_token.end for pre_token in fragment.trace.pre_tokens)
    return ends


def _staged_boundaries(tokenizer: Staged, text: str) -> set[int]:
    ends: set[int] = set()
    for stretch in tokenizer.stages(text, parse_special=True).stretches or ():
        if stretch.pre_tokens:
            ends.update(stretch.start + end for end in _ends(stretch.pre_tokens))
    return ends


def _ends(parts: Iterable[bytes]) -> Iterable[int]:
    return accumulate(map(len, parts))


class Window(NamedTuple):
    """A stretch of ids on each side that replaces the other; all are indexes, and the ends are exclusive."""

    actual_start: int
    actual_end: int
    expected_start: int
    expected_end: int


def find_windows(actual: Sequence[int], expected: Sequence[int]) -> Iterator[Window]:
    """Yield the stretches that differ, from the beginning, without aligning the lists as a whole.

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
