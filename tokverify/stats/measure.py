"""Measure tokenizers on texts, piece by piece, so that a text may be larger than memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.errors import EncodeError, TokverifyError, UnsupportedError
from tokverify.report.stats import Measured, Row, Stats
from tokverify.stats.probe import probe
from tokverify.stats.text import read_pieces, samples, texts_of
from tokverify.stats.vocabulary import count_long, longest, ordinary

if TYPE_CHECKING:
    from tokverify.stats.subject import Subject
    from tokverify.stats.text import Kind, Text

_LISTED = 5
_TRAILING = re.compile(r"[ \t]\r?$", re.MULTILINE)


def measure(
    subjects: Sequence[Subject],
    files: Sequence[Path] = (),
    *,
    on_progress: Callable[[int, int], None] | None = None,
) -> Stats:
    """Measure tokenizers on files, or without any on our own samples.

    Args:
        subjects: The tokenizers.
        files: What to encode, in UTF-8.
        on_progress: Called after each piece with the number of bytes done and of all.

    Raises:
        TokverifyError: If a file cannot be read or is not UTF-8, or there is nothing in any.
    """
    size = sum(_checked_size(path) for path in files)
    if files and not size:
        raise TokverifyError(f"{', '.join(map(str, files))}: nothing in it to measure; name a file with text")
    tally = _Tally(subjects)
    for text in (text for path in files for text in texts_of(path)) if files else samples():
        tally.add(text)
        if on_progress:
            on_progress(tally.bytes, size)
    measured = (
        _measured(subject, tally.used[index], tally.failures(index), judged=bool(files))
        for index, subject in enumerate(subjects)
    )
    versions = {name: version for subject in subjects for name, version in subject.versions.items()}
    return Stats(tuple(measured), tally.rows(), tuple(map(str, files)), versions=versions)


def _checked_size(path: Path) -> int:
    """Read a file once, which is quick, so that nothing is encoded in vain.

    Raises:
        TokverifyError: If it cannot be read twice, or not at all, or is not UTF-8.
    """
    if path.exists() and not path.is_file():
        raise TokverifyError(f"{path}: not a regular file, and a text is read more than once; save it to a file first")
    return sum(len(piece.encode()) for piece in read_pieces(path))


@dataclass(slots=True)
class _Sum:
    """A row in the making; `failures` holds why a tokenizer cannot encode a text of it."""

    tokens: list[int]
    unknown: list[int]
    pieces: int = 0
    bytes: int = 0
    characters: int = 0
    words: int = 0
    trailing: int = 0
    failures: dict[int, str] = field(default_factory=dict)


class _Tally:
    """Adds up texts by what they are; `used` holds the ids that each tokenizer has used."""

    def __init__(self, subjects: Sequence[Subject]) -> None:
        self._subjects = subjects
        self._sums: dict[tuple[Kind, str, bool], _Sum] = {}
        self.used: list[set[int]] = [set() for _ in subjects]

    @property
    def bytes(self) -> int:
        """All bytes so far."""
        return sum(made.bytes for made in self._sums.values())

    def add(self, text: Text) -> None:
        """Encode a text with each tokenizer, and count."""
        zeros = [0] * len(self._subjects)
        made = self._sums.setdefault((text.kind, text.name, text.spaced), _Sum(zeros, zeros.copy()))
        made.pieces += 1
        made.bytes += len(text.content.encode())
        made.characters += len(text.content)
        made.words += len(text.content.split())
        made.trailing += len(_TRAILING.findall(text.content))
        for index in range(len(self._subjects)):
            if index not in made.failures:
                self._encode(made, index, text)

    def _encode(self, made: _Sum, index: int, text: Text) -> None:
        subject = self._subjects[index]
        try:
            ids = subject.tokenizer.encode(text.content, add_special=False, parse_special=False)
        except (EncodeError, UnsupportedError) as error:
            made.failures[index] = f"{text.kind} {text.name}: {error}"
            return
        made.tokens[index] += len(ids)
        made.unknown[index] += sum(map(ids.count, subject.unknown))
        self.used[index].update(ids)

    def failures(self, index: int) -> tuple[str, ...]:
        """Return which texts a tokenizer could not encode, and why."""
        return tuple(made.failures[index] for made in self._sums.values() if index in made.failures)

    def rows(self) -> tuple[Row, ...]:
        """Return the sums, in the order in which their first texts came."""
        return tuple(
            Row(
                kind,
                name,
                pieces=made.pieces,
                bytes=made.bytes,
                characters=made.characters,
                words=made.words if spaced else None,
                trailing=made.trailing,
                tokens=tuple(None if index in made.failures else count for index, count in enumerate(made.tokens)),
                unknown=tuple(made.unknown),
            )
            for (kind, name, spaced), made in self._sums.items()
        )


def _measured(subject: Subject, used: set[int], failures: tuple[str, ...], *, judged: bool) -> Measured:
    tokenizer = subject.tokenizer
    vocabulary = ordinary(tokenizer, subject.attributes)
    unused = vocabulary.ids - used
    return Measured(
        name=subject.name,
        source=subject.source,
        vocab_size=tokenizer.vocab_size,
        ordinary=len(vocabulary.ids),
        excluded=vocabulary.excluded,
        probe=probe(tokenizer, subject.unknown),
        long_tokens=count_long(tokenizer, vocabulary.ids),
        longest=longest(tokenizer, vocabulary.ids, _LISTED),
        longest_used=longest(tokenizer, vocabulary.ids & used, _LISTED),
        unused=len(unused) if judged else None,
        unused_examples=longest(tokenizer, unused, _LISTED) if judged else [],
        failures=failures,
        fingerprint=subject.fingerprint,
        sha256=subject.sha256,
    )
