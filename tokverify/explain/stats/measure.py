"""Measure tokenizers on texts, piece by piece, as a text may be larger than memory."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from tokverify.engine.attribute import Attribute, find_bits
from tokverify.engine.family import Settings
from tokverify.engine.special_text import BYTE_PIECE
from tokverify.errors import EncodeError, TokverifyError, UnsupportedError
from tokverify.explain.stats.text import PIECE_BYTES, SampleText, probe, read_pieces, samples, texts_of
from tokverify.report.stats import LONG_TOKEN, MeasuredTexts, MeasuredTokenizer, StatsReport, TextKind, TokenCount
from tokverify.text.wording import plural
from tokverify.texts.mode import Mode, Modes
from tokverify.tokenizer import Token, Tokenizer, pieces_of, tokens_of, why_hidden

_LISTED = 5
_TRAILING = re.compile(r"[ \t]\r?$", re.MULTILINE)
_ORDINARY = (Attribute.NORMAL | Attribute.USER_DEFINED).value
_EXCLUDED = {
    "control": Attribute.CONTROL.value,
    "byte": Attribute.BYTE.value,
    "unused": Attribute.UNUSED.value,
    "unknown": Attribute.UNKNOWN.value,
}


def measure(
    subjects: Sequence[StatsSubject],
    files: Sequence[Path] = (),
    *,
    on_progress: Callable[[int, int], None] | None = None,
) -> StatsReport:
    """Measure tokenizers on files, or on the bundled samples if there are none.

    Args:
        subjects: The tokenizers.
        files: What to encode, in UTF-8.
        on_progress: Called after each piece with the number of bytes done and the total.

    Raises:
        TokverifyError: If a file cannot be read or is not UTF-8, or if all of them are empty.
    """
    size = sum(_count_bytes(path) for path in files)
    if files and not size:
        raise TokverifyError(f"{', '.join(map(str, files))}: nothing to measure; name a file with text")
    tally = _Tally(subjects)
    for text in chain.from_iterable(map(texts_of, files)) if files else samples():
        tally.add(text)
        if on_progress:
            on_progress(tally.bytes, size)
    measured = [
        _measure_vocabulary(subject, tally.used[index], tally.failures(index), with_unused=bool(files))
        for index, subject in enumerate(subjects)
    ]
    versions: dict[str, str] = {}
    for subject in subjects:
        versions |= subject.versions
    stats = StatsReport(
        tokenizers=tuple(measured), texts=tally.texts(), files=tuple(map(str, files)), versions=versions
    )
    reasons = [(subject.name, why_hidden(subject.tokenizer)) for subject in subjects]
    hidden = [f"nothing is known about the vocabulary of {name}: {reason}" for name, reason in reasons if reason]
    return replace(stats, remarks=(*_make_remarks(stats), *hidden))


def _count_bytes(path: Path) -> int:
    """Return the size of a file after reading it once, so that errors are found before anything is encoded.

    Raises:
        TokverifyError: If it is not a regular file, cannot be read or is not UTF-8.
    """
    if path.exists() and not path.is_file():
        raise TokverifyError(f"{path}: not a regular file, and the text is read twice; save it to a file first")
    return sum(len(piece.encode()) for piece in read_pieces(path))


@dataclass(slots=True)
class _Sum:
    """The sums over all texts with the same kind and name."""

    tokens: list[int]
    """Tokens by tokenizer."""
    unknown: list[int]
    """Unknown tokens by tokenizer."""
    pieces: int = 0
    bytes: int = 0
    characters: int = 0
    words: int = 0
    trailing: int = 0
    failures: dict[int, str] = field(default_factory=dict)
    """Index of a tokenizer -> why it cannot encode one of the texts."""


class _Tally:
    """Adds up texts by kind and name; `used` holds the ids that each tokenizer has produced."""

    def __init__(self, subjects: Sequence[StatsSubject]) -> None:
        self._subjects = subjects
        self._modes = Modes(*(subject.tokenizer for subject in subjects))
        self._sums: dict[tuple[TextKind, str, bool], _Sum] = {}
        self.used: list[set[int]] = [set() for _ in subjects]

    @property
    def bytes(self) -> int:
        """The number of bytes so far."""
        return sum(total.bytes for total in self._sums.values())

    def add(self, text: SampleText) -> None:
        """Encode a text with each tokenizer and add up the counts."""
        zeros = [0] * len(self._subjects)
        total = self._sums.setdefault((text.kind, text.name, text.spaced), _Sum(zeros, zeros.copy()))
        total.pieces += 1
        total.bytes += len(text.content.encode())
        total.characters += len(text.content)
        total.words += len(text.content.split())
        total.trailing += len(_TRAILING.findall(text.content))
        mode = self._modes.choose(text.content, Mode(add_special=False, parse_special=False))
        for index in range(len(self._subjects)):
            if index not in total.failures:
                self._encode(total, index, text, mode)

    def _encode(self, total: _Sum, index: int, text: SampleText, mode: Mode) -> None:
        subject = self._subjects[index]
        try:
            ids = subject.tokenizer.encode(text.content, **mode._asdict())
        except (EncodeError, UnsupportedError) as error:
            total.failures[index] = f"{text.kind} {text.name}: {error}"
            return
        total.tokens[index] += len(ids)
        total.unknown[index] += sum(map(ids.count, subject.unknown))
        self.used[index].update(ids)

    def failures(self, index: int) -> tuple[str, ...]:
        """Return the texts that a tokenizer could not encode, and why."""
        return tuple(total.failures[index] for total in self._sums.values() if index in total.failures)

    def texts(self) -> tuple[MeasuredTexts, ...]:
        """Return the sums, in the order in which their first texts came."""
        return tuple(
            MeasuredTexts(
                kind=kind,
                name=name,
                pieces=total.pieces,
                bytes=total.bytes,
                characters=total.characters,
                words=total.words if spaced else None,
                trailing=total.trailing,
                counts=tuple(self._count(index, total, spaced=spaced) for index in range(len(self._subjects))),
            )
            for (kind, name, spaced), total in self._sums.items()
        )

    def _count(self, index: int, total: _Sum, *, spaced: bool) -> TokenCount:
        name, unknown = self._subjects[index].name, total.unknown[index]
        if index in total.failures:
            return TokenCount(name=name, tokens=None, unknown=unknown)
        tokens = total.tokens[index]
        return TokenCount(
            name=name,
            tokens=tokens,
            unknown=unknown,
            per_byte=_divide(tokens, total.bytes),
            per_character=_divide(tokens, total.characters),
            per_word=_divide(tokens, total.words) if spaced else None,
        )


def _divide(count: int, size: int) -> float | None:
    return count / size if size else None


def _measure_vocabulary(
    subject: StatsSubject, used: set[int], failures: tuple[str, ...], *, with_unused: bool
) -> MeasuredTokenizer:
    tokenizer = subject.tokenizer
    ordinary = find_ordinary(tokenizer, subject.attributes)
    unused = ordinary.ids - used
    return MeasuredTokenizer(
        name=subject.name,
        source=subject.source,
        fingerprint=subject.fingerprint,
        sha256=subject.sha256,
        vocab_size=tokenizer.vocab_size,
        ordinary=len(ordinary.ids),
        excluded=ordinary.excluded,
        probe=probe(tokenizer, subject.unknown),
        long_tokens=count_long(tokenizer, ordinary.ids),
        longest=tuple(find_longest(tokenizer, ordinary.ids, _LISTED)),
        longest_used=tuple(find_longest(tokenizer, ordinary.ids & used, _LISTED)),
        unused=len(unused) if with_unused else None,
        unused_examples=tuple(find_longest(tokenizer, unused, _LISTED)) if with_unused else (),
        failures=failures,
    )


def _make_remarks(stats: StatsReport) -> Iterator[str]:
    yield "words are separated by white space; they are not counted in scripts without spaces between words"
    yield from _explain_tokens(stats)
    if any(measured.probe.trailing_space for measured in stats.tokenizers):
        yield (
            "a space at the end of a prompt becomes a separate token, which would not be there if the text continued:"
            " do not end a prompt with a space"
        )
    if not stats.files:
        yield "unused tokens are counted only for files: the samples are too short"
    yield from _explain_texts(stats)


def _explain_tokens(stats: StatsReport) -> Iterator[str]:
    for measured in stats.tokenizers:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in measured.excluded.items())
        if kinds:
            yield f"{measured.name}: tokens not counted as long or unused: {kinds}"
    yield "runs of a single character are not listed among the longest tokens"
    if any(count.unknown for count in chain.from_iterable(texts.counts for texts in stats.texts)):
        yield "an unknown token can represent any amount of text, so few tokens are no advantage if some are unknown"


def _explain_texts(stats: StatsReport) -> Iterator[str]:
    pieces = sum(texts.pieces for texts in stats.texts)
    if pieces > max(len(stats.files), len(stats.texts)):
        yield (
            f"encoded in {pieces:,} pieces: files over {PIECE_BYTES >> 20} MiB are split at line ends, and prose where"
            " the script changes; each split may change a count by a token or two"
        )
    trailing = sum(texts.trailing for texts in stats.texts) if stats.files else 0
    if trailing:
        yield f"{plural(trailing, 'line')} of these texts {'ends' if trailing == 1 else 'end'} in spaces or tabs"


@dataclass(frozen=True, slots=True)
class StatsSubject:
    """A tokenizer to measure."""

    name: str
    source: str
    tokenizer: Tokenizer
    attributes: Sequence[int] | None = None
    """The attributes of each token; None if they are not known."""
    unknown: frozenset[int] = frozenset()
    """Ids that represent text for which there is no token."""
    fingerprint: str | None = None
    """Set for an encoder of ours."""
    sha256: str | None = None
    """The digest of a reference's file."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """The versions of the libraries involved."""


def make_subject(name: str, source: str, tokenizer: Tokenizer, declared: Settings | None) -> StatsSubject:
    """Describe a tokenizer; `declared` are its effective settings, or None if they are unknown."""
    if declared is None or len(declared.attributes) != tokenizer.vocab_size:
        unknown = tokenizer.special_ids.get("unk")
        return StatsSubject(name, source, tokenizer, unknown=frozenset() if unknown is None else frozenset([unknown]))
    unknown_ids = {*find_bits(declared.attributes, Attribute.UNKNOWN)}
    if "unk" in declared.special_ids:
        unknown_ids.add(declared.special_ids["unk"])
    return StatsSubject(name, source, tokenizer, declared.attributes, frozenset(unknown_ids))


@dataclass(frozen=True, slots=True)
class OrdinaryTokens:
    """The tokens that ordinary text can use."""

    ids: frozenset[int]
    excluded: Mapping[str, int]
    """Kind of token -> number of tokens that ordinary text cannot use."""


def find_ordinary(tokenizer: Tokenizer, attributes: Sequence[int] | None) -> OrdinaryTokens:
    """Exclude control, byte, unused and unknown tokens.

    Without `attributes`, only special tokens with a known role, byte pieces and ids without a token are excluded.
    """
    if attributes is None:
        special = set(tokenizer.special_ids.values())
        kinds = [_kind_of_piece(piece, id in special) for id, piece in enumerate(pieces_of(tokenizer))]
    else:
        kinds = list(map(_kind_of_attribute, attributes))
    ids = frozenset(id for id, kind in enumerate(kinds) if kind is None)
    return OrdinaryTokens(ids, dict(Counter(kind for kind in kinds if kind is not None)))


def _kind_of_attribute(attribute: int) -> str | None:
    if kind := next((name for name, bit in _EXCLUDED.items() if attribute & bit), None):
        return kind
    return None if attribute & _ORDINARY else "undefined"


def _kind_of_piece(piece: str, is_special: bool) -> str | None:
    if is_special:
        return "special"
    if not piece:
        return "undefined"
    return "byte" if BYTE_PIECE.fullmatch(piece) else None


def find_longest(tokenizer: Tokenizer, ids: Iterable[int], count: int) -> list[Token]:
    """Return the tokens that represent the most characters, longest first, except runs of one character."""
    texts = {id: _text(tokenizer, id) for id in ids}
    varied = [id for id, text in texts.items() if len(set(text.strip())) > 1]
    return tokens_of(tokenizer, sorted(varied, key=lambda id: (-len(texts[id]), id))[:count])


def count_long(tokenizer: Tokenizer, ids: Iterable[int]) -> int:
    """Count the tokens that represent more than `LONG_TOKEN` characters."""
    return sum(len(_text(tokenizer, id)) > LONG_TOKEN for id in ids)


def _text(tokenizer: Tokenizer, id: int) -> str:
    return tokenizer.token_bytes(id).decode("utf-8", "replace")
