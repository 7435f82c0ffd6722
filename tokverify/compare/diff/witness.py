"""Find the shortest text that shows a change: texts about everything that changed are tried and then shrunk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice
from typing import TYPE_CHECKING

from tokverify.compare.diff.merge_text import conflict_texts
from tokverify.errors import EncodeError, UnsupportedError
from tokverify.texts.batch import FAILURES
from tokverify.texts.mode import Mode, Modes
from tokverify.texts.neighbor_text import neighbor_texts
from tokverify.texts.sample import Sample
from tokverify.texts.shrink import shrink
from tokverify.tokenizer import LlamaCppDecoding, Tokenizer, pieces_of

if TYPE_CHECKING:
    from tokverify.compare.diff.version import Version
    from tokverify.report.diff import Part

_MAX_PIECES = 2000
"""The number of changed pieces per part to build texts from."""
_MAX_LENGTH = 500
"""In characters; longer pieces are left out."""
_MAX_SHRUNK = 3
"""The number of the shortest texts to shrink."""
_CONTEXTS = ("{}", "a{}a", " {}", "{} a")
_TEXTS = (
    "", " ", "a", "  a", "a  a", " a ", "A", "QwXzJk", "é", "e\u0301", "ﬁ", "１", "\n\n", " \n  a", "!!\n\na", "\r\n",
    "\t", "1234567890", "a1b2", "I'LL don't", "日本", "\u00a0", "①½", "🙂", ". a",
)  # fmt: skip
"""Texts that show a change of a normalizer, a pre-tokenizer or the handling of spaces."""
_SEPARATOR = " "
_LETTER = "a"
_MODES = (Mode(False, False), Mode(False, True), Mode(True, True))
_IN_PIECES = frozenset({"tokens", "types", "scores", "added tokens", "merges"})


@dataclass(frozen=True, slots=True)
class Encoding:
    """What one tokenizer makes of a sample; both None if it cannot encode it."""

    ids: tuple[int, ...] | None
    text: bytes | None
    """The decoded bytes."""
    is_supported: bool = True
    """Whether the tokenizer supports the sample, which otherwise proves nothing."""


class Versions:
    """The old and the new tokenizer, which encode samples with the options that both support."""

    def __init__(self, old: Tokenizer, new: Tokenizer) -> None:
        self._decoders = {True: (old, _decoder(old, new)), False: (new, _decoder(new, old))}
        self._modes = Modes(old, new)
        self._encode = cache(self._compute)

    def old(self, sample: Sample) -> Encoding:
        """Encode and decode with the old version."""
        return self._encode(sample, is_old=True)

    def new(self, sample: Sample) -> Encoding:
        """Encode and decode with the new version."""
        return self._encode(sample, is_old=False)

    def redecode(self, sample: Sample) -> bytes | None:
        """Decode the old ids of a sample with the new version; None if it cannot."""
        ids = self.old(sample).ids
        return None if ids is None else self._decode(ids, is_old=False)

    def modes(self, text: str) -> list[Sample]:
        """Return the samples of a text: plain, and with each option, as far as both versions support that."""
        chosen = (self._modes.choose(text, mode) for mode in _MODES)
        return [Sample(text, *mode) for mode in dict.fromkeys(chosen)]

    def supports(self, sample: Sample) -> bool:
        """Whether both versions support the options of a sample, and its text."""
        is_possible = self._modes.choose(sample.text, sample.mode) == sample.mode
        return is_possible and self.old(sample).is_supported and self.new(sample).is_supported

    @cached_property
    def why_not_decoded(self) -> str:
        """Why one of the versions does not decode at all; empty if both do."""
        mode = self._modes.choose(_LETTER, Mode(add_special=False, parse_special=True))
        for is_old, (_, decode) in self._decoders.items():
            ids = self._encode(Sample(_LETTER, *mode), is_old=is_old).ids
            try:
                decode(ids or ())
            except UnsupportedError as error:
                return str(error)
            except EncodeError:
                continue
        return ""

    def _compute(self, sample: Sample, *, is_old: bool) -> Encoding:
        tokenizer, _ = self._decoders[is_old]
        try:
            ids = tokenizer.encode(sample.text, add_special=sample.add_special, parse_special=sample.parse_special)
        except FAILURES as failure:
            return Encoding(None, None, is_supported=isinstance(failure, EncodeError))
        return Encoding(tuple(ids), self._decode(ids, is_old=is_old))

    def _decode(self, ids: Sequence[int], *, is_old: bool) -> bytes | None:
        try:
            return self._decoders[is_old][1](ids)
        except FAILURES:
            return None


def _decoder(tokenizer: Tokenizer, other: Tokenizer) -> Callable[[Sequence[int]], bytes]:
    """Return how a tokenizer decodes: with llama.cpp's cleanup if both can."""
    if isinstance(tokenizer, LlamaCppDecoding) and isinstance(other, LlamaCppDecoding):
        return tokenizer.decode_as_llama_cpp
    return tokenizer.decode


def shortest_witness(samples: Iterable[Sample], shows: Callable[[Sample], bool]) -> Sample | None:
    """Return the shortest sample found for which `shows` is true; None if there is none among `samples`."""
    showing = filter(shows, sorted(dict.fromkeys(samples), key=_size))
    shrunk = [shrink(sample, shows) for sample in islice(showing, _MAX_SHRUNK)]
    return min(shrunk, key=_size, default=None)


def _size(sample: Sample) -> tuple[int, int]:
    return len(sample.text), sample.add_special + sample.parse_special


def texts_about(parts: Iterable[Part], old: Version, new: Version) -> Iterator[str]:
    """Yield texts about everything that changed: each changed piece in several contexts, and texts of many kinds."""
    yield from _TEXTS
    changed = [part for part in parts if part.name in _IN_PIECES]
    known = [_index(version.tokenizer) for version in (old, new)] if changed else []
    for part in changed:
        whats = [change.what for change in part.changes]
        for what in whats[:: len(whats) // _MAX_PIECES + 1]:
            yield from _texts_of_piece(what.replace(_SEPARATOR, "") if part.name == "merges" else what, known)
        if part.name == "merges":
            yield from conflict_texts(part.changes, old, new)
        elif part.name == "scores":
            yield from neighbor_texts(whats, pieces_of(new.tokenizer))


def _index(tokenizer: Tokenizer) -> tuple[Tokenizer, dict[str, int]]:
    return tokenizer, {piece: id for id, piece in enumerate(pieces_of(tokenizer)) if piece}


def _texts_of_piece(piece: str, known: Sequence[tuple[Tokenizer, dict[str, int]]]) -> Iterator[str]:
    texts = {piece}
    for tokenizer, ids in known:
        if piece in ids:
            texts.add(_decode_token(tokenizer, ids[piece]))
    for text in sorted(filter(None, texts)):
        if len(text) <= _MAX_LENGTH:
            yield from (context.replace("{}", text) for context in _CONTEXTS)


def _decode_token(tokenizer: Tokenizer, id: int) -> str:
    """Return the text of a token; empty if it is not whole characters."""
    try:
        return tokenizer.token_bytes(id).decode()
    except (*FAILURES, UnicodeDecodeError):
        return ""
