"""Find the shortest text that shows a change: texts about everything that changed are tried and then shrunk."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from math import inf
from typing import NamedTuple

from tokverify.compare.diff.version import Version
from tokverify.engine.piece_index import index_pieces
from tokverify.errors import EncodeError, UnsupportedError
from tokverify.report.diff import Part, PartChange
from tokverify.spec import split_merge, split_merges
from tokverify.text.utf8 import from_utf8
from tokverify.texts.batch import FAILURES, Encoded, encode_all, ids_or_none
from tokverify.texts.mode import Mode, Modes
from tokverify.texts.neighbor_text import neighbor_texts
from tokverify.texts.sample import Sample
from tokverify.texts.shrink import shrink
from tokverify.tokenizer import BatchDecoding, LlamaCppDecoding, Tokenizer, pieces_of

_MAX_PIECES = 2000
"""The number of changed pieces per part to build texts from."""
_MAX_TOKENS = 500
"""The number of tokens that moved, were added or removed; nearly every one of them shows it."""
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
_MAX_MERGES = 500
"""The number of changed merges to look for rivals of."""
_MANY_MERGES = 10_000
"""The number of changed merges that show themselves in any text; their rivals would take seconds to find."""
_MAX_RIVALS = 20
"""The number of rivals per merge."""
_AFTER = "after "
_Merge = tuple[str, str]
_Ranks = Mapping[_Merge, float]


class Encoding(NamedTuple):
    """What one tokenizer makes of a sample."""

    ids: tuple[int, ...] | None
    """None if it cannot encode the sample."""
    is_supported: bool = True
    """Whether the tokenizer supports the sample, which otherwise proves nothing."""


class Versions:
    """The old and the new tokenizer, which encode samples with the options that both support."""

    def __init__(self, old: Tokenizer, new: Tokenizer) -> None:
        self._decoders = {True: (old, _decoder(old, new)), False: (new, _decoder(new, old))}
        self._decoded: dict[bool, dict[tuple[int, ...], bytes | None]] = {True: {}, False: {}}
        self._modes = Modes(old, new)
        self._encodings: dict[Sample, tuple[Encoding, Encoding]] = {}
        """A dictionary, not a cached method, because tens of thousands of samples are looked up a dozen times each."""

    def supported(self, samples: Iterable[Sample]) -> list[Sample]:
        """Return the samples that both versions support, all encoded in as few calls as possible."""
        chosen = list(filter(self._has_fitting_options, dict.fromkeys(samples)))
        texts, modes = [sample.text for sample in chosen], [sample.mode for sample in chosen]
        sides = (map(_encoding_of, encode_all(side, texts, modes)) for side, _ in self._decoders.values())
        self._encodings.update(zip(chosen, zip(*sides, strict=True), strict=True))
        return list(filter(self.supports, chosen))

    def encode(self, sample: Sample) -> tuple[Encoding, Encoding]:
        """Encode with the old and with the new version."""
        encodings = self._encodings.get(sample)
        if encodings is None:
            encodings = self._encode(sample, is_old=True), self._encode(sample, is_old=False)
            self._encodings[sample] = encodings
        return encodings

    def ids(self, sample: Sample) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
        """Return the old and the new ids; None for a version that cannot encode the sample."""
        old, new = self.encode(sample)
        return old.ids, new.ids

    def differ(self, sample: Sample) -> bool:
        """Check whether the two encode a sample differently."""
        old, new = self.encode(sample)
        return old.ids != new.ids

    def decode_all(self, samples: Iterable[Sample]) -> None:
        """Decode what both versions make of samples, in as few calls as possible, for the three methods below."""
        pairs = [self.ids(sample) for sample in samples]
        for is_old, (tokenizer, decode) in self._decoders.items():
            if decode == tokenizer.decode and isinstance(tokenizer, BatchDecoding):
                lists = [*{ids for pair in pairs for ids in (pair[:1] if is_old else pair) if ids is not None}]
                decoded = zip(lists, tokenizer.decode_many(lists), strict=True)
                self._decoded[is_old] = {ids: None if isinstance(data, FAILURES) else data for ids, data in decoded}

    def decode_old(self, sample: Sample) -> bytes | None:
        """Decode the old ids with the old version; None if it cannot."""
        return self._decode(self.ids(sample)[0], is_old=True)

    def decode_new(self, sample: Sample) -> bytes | None:
        """Decode the new ids with the new version; None if it cannot."""
        return self._decode(self.ids(sample)[1], is_old=False)

    def redecode(self, sample: Sample) -> bytes | None:
        """Decode the old ids of a sample with the new version; None if it cannot."""
        return self._decode(self.ids(sample)[0], is_old=False)

    def modes(self, text: str) -> list[Sample]:
        """Return the samples of a text: plain, and with each option, as far as both versions support that."""
        chosen = self._fixed_modes or dict.fromkeys(self._modes.choose(text, mode) for mode in _MODES)
        return [Sample(text, *mode) for mode in chosen]

    def supports(self, sample: Sample) -> bool:
        """Whether both versions support the options of a sample, and its text."""
        if not self._has_fitting_options(sample):
            return False
        old, new = self.encode(sample)
        return old.is_supported and new.is_supported

    def _has_fitting_options(self, sample: Sample) -> bool:
        options = sample[1:]
        return options in self._fixed_modes or self._modes.choose(sample.text, sample.mode) == options

    @cached_property
    def _fixed_modes(self) -> Mapping[Mode, None]:
        """The modes in which every text is compared; none if they depend on the text."""
        if not self._modes.parses_special:
            return {}
        return dict.fromkeys(self._modes.choose(_LETTER, mode) for mode in _MODES)

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

    def _encode(self, sample: Sample, *, is_old: bool) -> Encoding:
        tokenizer, _ = self._decoders[is_old]
        text, add_special, parse_special = sample
        try:
            return Encoding(tuple(tokenizer.encode(text, add_special=add_special, parse_special=parse_special)))
        except FAILURES as failure:
            return Encoding(None, is_supported=isinstance(failure, EncodeError))

    def _decode(self, ids: tuple[int, ...] | None, *, is_old: bool) -> bytes | None:
        if ids is None:
            return None
        if ids in self._decoded[is_old]:
            return self._decoded[is_old][ids]
        try:
            return self._decoders[is_old][1](ids)
        except FAILURES:
            return None


def _encoding_of(encoded: Encoded) -> Encoding:
    return Encoding(ids_or_none(encoded), is_supported=not isinstance(encoded, UnsupportedError))


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
    known = [(version.tokenizer, index_pieces(pieces_of(version.tokenizer))) for version in (old, new) if changed]
    for part in changed:
        whats = [change.what for change in part.changes]
        most = _MAX_TOKENS if part.name == "tokens" else _MAX_PIECES
        for what in whats[:: len(whats) // most + 1]:
            yield from _texts_of_piece(what.replace(_SEPARATOR, "") if part.name == "merges" else what, known)
        if part.name == "merges" and len(part.changes) <= _MANY_MERGES:
            yield from conflict_texts(part.changes, old, new)
        elif part.name == "scores":
            yield from neighbor_texts(whats, pieces_of(new.tokenizer))


def _texts_of_piece(piece: str, known: Sequence[tuple[Tokenizer, Mapping[str, int]]]) -> Iterator[str]:
    texts = {piece}
    for tokenizer, ids in known:
        id = ids.get(piece)
        if piece and id is not None:
            texts.add(_decode_token(tokenizer, id))
    for text in sorted(filter(None, texts)):
        if len(text) <= _MAX_LENGTH:
            yield from (context.replace("{}", text) for context in _CONTEXTS)


def _decode_token(tokenizer: Tokenizer, id: int) -> str:
    """Return the text of a token; empty if it is not whole characters."""
    try:
        return tokenizer.token_bytes(id).decode()
    except (*FAILURES, UnicodeDecodeError):
        return ""


def conflict_texts(changes: Iterable[PartChange], old: Version, new: Version) -> Iterator[str]:
    """Yield a text for each pair of overlapping merges whose order changed, one of which the changes name.

    The text of a merged piece does not show that two merges were reordered: `a b` and `b c` compete only in `abc`.
    """
    if old.spec is None or new.spec is None:
        return
    before, after = (_rank(version.spec.merges or () if version.spec else ()) for version in (old, new))
    every = {**before, **after}
    named = [split_merge(merge) for change in changes for merge in _name_merges(change)]
    changed = [merge for merge in dict.fromkeys(named) if merge in every]
    by_left, by_right = _index_merges(every)
    known = index_pieces(pieces_of(new.tokenizer))
    for merge in changed[:: len(changed) // _MAX_MERGES + 1]:
        left, right = merge
        rivals = [(rival, (*merge, rival[1])) for rival in by_left[right]]
        rivals += [(rival, (rival[0], *merge)) for rival in by_right[left]]
        competing = (pieces for rival, pieces in rivals if _is_reordered(merge, rival, before, after))
        texts = (_join(pieces, new.tokenizer, known) for pieces in islice(competing, _MAX_RIVALS))
        yield from filter(None, texts)


def _rank(merges: Iterable[str]) -> dict[_Merge, float]:
    return {pair: rank for rank, pair in enumerate(split_merges(merges))}


def _name_merges(change: PartChange) -> Iterator[str]:
    """Yield the merge that changed, and the one that it now precedes."""
    yield change.what
    if change.old and change.old.startswith(_AFTER):
        yield change.old.removeprefix(_AFTER)


def _index_merges(merges: Iterable[_Merge]) -> tuple[dict[str, list[_Merge]], dict[str, list[_Merge]]]:
    """Group merges by their left and by their right piece."""
    by_left: dict[str, list[_Merge]] = defaultdict(list)
    by_right: dict[str, list[_Merge]] = defaultdict(list)
    for merge in merges:
        by_left[merge[0]].append(merge)
        by_right[merge[1]].append(merge)
    return by_left, by_right


def _is_reordered(merge: _Merge, rival: _Merge, before: _Ranks, after: _Ranks) -> bool:
    was_first, is_first = (ranks.get(merge, inf) < ranks.get(rival, inf) for ranks in (before, after))
    return was_first != is_first


def _join(pieces: Iterable[str], tokenizer: Tokenizer, known: Mapping[str, int]) -> str:
    """Return the text of pieces; empty if one is not a token, or together they are not whole characters."""
    ids = [known.get(piece) for piece in pieces]
    data = b"".join(b"" if id is None else tokenizer.token_bytes(id) for id in ids)
    return "" if None in ids else from_utf8(data) or ""
