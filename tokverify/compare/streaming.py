"""Check that texts decoded id by id equal the same texts decoded at once, with nothing lost, repeated or replaced.

Decoding starts at the first id and, if a tokenizer supports that, after every other one, as it does behind a prompt.
The other direction, texts that are encoded piece by piece, is in `extending`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

from tokverify.case import Case
from tokverify.compare.extending import Extending, Extensions
from tokverify.errors import EncodeError, UnsupportedError, or_raise
from tokverify.report.side import Side
from tokverify.report.stream import StreamedSide, StreamFailure, StreamFault, StreamMethod
from tokverify.text.sequence import common_ends, common_length
from tokverify.texts.mode import Modes, mode_of
from tokverify.tokenizer import BatchDecoding, Tokenizer

MAX_IDS = 128
"""The number of ids up to which a text is resumed after each of them."""
MAX_PREFIXES = 1024
"""The number of ids of which all prefixes are decoded; what follows them in a longer text is not streamed."""

_MOST_BYTES = 4
"""A character has at most this many ids, one for each byte of its UTF-8."""
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_CUT = f"streamed only up to the id {MAX_PREFIXES:,}, because it has more"


class TextStream(Protocol):
    """Decodes ids one by one."""

    def push(self, id: int) -> str:
        """Take the next id; return the text that is complete with it, which may be none.

        Raises:
            EncodeError: If the id cannot be decoded.
        """

    def finish(self) -> str:
        """Return the remaining text."""


@runtime_checkable
class StreamDecoding(Protocol):
    """Decodes incrementally."""

    def decoder(self) -> TextStream:
        """Start with the first id of a text."""


@runtime_checkable
class StreamResuming(Protocol):
    """Decodes incrementally from within a text on."""

    def resume(self, before: Sequence[int]) -> TextStream:
        """Start after the ids `before`, whose text is not returned again."""


def check_streams(tokenizer: Tokenizer, side: Side, cases: Iterable[Case], *, resume: bool = True) -> StreamedSide:
    """Stream the ids that a tokenizer gives to each text."""
    texts = list(cases)
    check, extensions = _Check(tokenizer, resume=resume), Extensions(tokenizer)
    failures = [failure for case in texts for failure in check.failures(case)]
    failures += extensions.failures(texts)
    method = StreamMethod.INCREMENTAL if isinstance(tokenizer, StreamDecoding) else StreamMethod.PREFIXES
    return StreamedSide(
        side,
        method,
        check.texts,
        check.ids,
        check.resumptions,
        tuple(failures),
        dict(sorted((check.skipped + extensions.skipped).items())),
        extensions=extensions.extensions,
        sessions=isinstance(tokenizer, Extending),
        reaches=extensions.reaches,
    )


@dataclass
class _Check:
    """Streams texts, and counts what was done."""

    tokenizer: Tokenizer
    resume: bool
    texts: int = 0
    ids: int = 0
    resumptions: int = 0
    skipped: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._modes = Modes(self.tokenizer)

    def failures(self, case: Case) -> Iterator[StreamFailure]:
        """Yield the failures of one text; if it cannot be encoded or decoded at once, note why."""
        mode = self._modes.choose(case.text, mode_of(case))
        try:
            all_ids = self.tokenizer.encode(case.text, **mode._asdict())
            ids = self._cut(all_ids)
            whole = _to_text(self.tokenizer.decode(ids))
        except (EncodeError, UnsupportedError) as error:
            self.skipped[str(error)] += 1
            return
        is_cut = len(ids) < len(all_ids)
        if is_cut:
            self.skipped[_CUT] += 1
        self.texts += 1
        self.ids += len(ids)
        expected = StreamFailure(case.name, StreamFault.CHANGED, None, tuple(ids), whole, "")
        if failure := self._stream(expected, (whole if is_cut else case.text).count(_REPLACEMENT)):
            yield failure
        if self.resume and isinstance(self.tokenizer, StreamResuming):
            yield from self._resume(expected, self.tokenizer)

    def _cut(self, ids: list[int]) -> list[int]:
        """Return the ids to stream: of a long text whose prefixes are decoded, those up to the end of a character."""
        if isinstance(self.tokenizer, StreamDecoding) or len(ids) <= MAX_PREFIXES:
            return ids
        for end in range(MAX_PREFIXES, MAX_PREFIXES - _MOST_BYTES, -1):
            if not _to_text(self.tokenizer.decode(ids[:end])).endswith(_REPLACEMENT):
                return ids[:end]
        return ids[:MAX_PREFIXES]

    def _stream(self, expected: StreamFailure, replacements: int) -> StreamFailure | None:
        """Decode from the first id on; `replacements` is how many U+FFFD the text contains."""
        try:
            streamed = "".join(_pieces(self.tokenizer, expected.ids))
        except EncodeError as error:
            return replace(expected, fault=StreamFault.ERROR, streamed=str(error))
        if streamed.count(_REPLACEMENT) > replacements:
            return replace(expected, fault=StreamFault.REPLACED, streamed=streamed)
        if streamed != expected.expected:
            return replace(expected, fault=_compare(streamed, expected.expected), streamed=streamed)
        return None

    def _resume(self, expected: StreamFailure, tokenizer: StreamResuming) -> Iterator[StreamFailure]:
        """Resume after each id but the last; yield the first failure of each kind."""
        if len(expected.ids) > MAX_IDS:
            self.skipped[f"not resumed within the text: longer than {MAX_IDS} ids"] += 1
            return
        found: dict[StreamFault, StreamFailure] = {}
        for at in range(1, len(expected.ids)):
            self.resumptions += 1
            failure = self._resume_at(replace(expected, resumed_at=at), at, tokenizer)
            if failure and failure.fault in found:
                first = found[failure.fault]
                found[failure.fault] = replace(first, others=first.others + 1)
            elif failure:
                found[failure.fault] = failure
        yield from found.values()

    def _resume_at(self, expected: StreamFailure, at: int, tokenizer: StreamResuming) -> StreamFailure | None:
        try:
            before = _to_text(self.tokenizer.decode(expected.ids[:at]))
            rest = _drain(tokenizer.resume(expected.ids[:at]), expected.ids[at:])
        except EncodeError as error:
            return replace(expected, fault=StreamFault.ERROR, streamed=str(error))
        if continues(before, rest, expected.expected):
            return None
        # What was decoded before the resumption, without a character that is not complete yet.
        after = expected.expected[common_length(before, expected.expected) :]
        return replace(expected, fault=_compare(rest, after), streamed=rest)


def continues(before: str, rest: str, whole: str) -> bool:
    """Whether `rest` is exactly what follows `before` in `whole`.

    A character that was not complete yet is U+FFFD at the end of `before`, and part of `rest`.
    """
    head = whole[: len(whole) - len(rest)]
    return whole.endswith(rest) and before.startswith(head) and set(before[len(head) :]) <= {_REPLACEMENT}


def _compare(streamed: str, expected: str) -> StreamFault:
    """Name how a text differs from the expected one."""
    start, end = common_ends(streamed, expected)
    if start + end == len(streamed):
        return StreamFault.LOST
    return StreamFault.DUPLICATED if start + end == len(expected) else StreamFault.CHANGED


def _pieces(tokenizer: Tokenizer, ids: Sequence[int]) -> Iterator[str]:
    if isinstance(tokenizer, StreamDecoding):
        yield _drain(tokenizer.decoder(), ids)
        return
    returned = 0
    for number, decoded in enumerate(_decode_prefixes(tokenizer, ids), 1):
        text = _to_text(decoded)
        complete = text if number == len(ids) else text.rstrip(_REPLACEMENT)
        yield complete[returned:]
        returned = max(returned, len(complete))


def _drain(stream: TextStream, ids: Sequence[int]) -> str:
    """Join the text that a stream returns for these ids, and at its end."""
    return "".join([*map(stream.push, ids), stream.finish()])


def _decode_prefixes(tokenizer: Tokenizer, ids: Sequence[int]) -> Iterator[bytes]:
    prefixes = [ids[:end] for end in range(1, len(ids) + 1)]
    if not isinstance(tokenizer, BatchDecoding):
        yield from map(tokenizer.decode, prefixes)
        return
    yield from map(or_raise, tokenizer.decode_many(prefixes))


def _to_text(decoded: bytes) -> str:
    return decoded.decode("utf-8", "replace")
