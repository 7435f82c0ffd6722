"""Report: what came out of a verification, as data; `tokverify.formats` turns it into text."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokverify.cases import Case
    from tokverify.diagnosis.result import Diagnosis
    from tokverify.diff import Difference


class Status(StrEnum):
    """The outcome of one case."""

    MATCH = "match"
    MISMATCH = "mismatch"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The outcome of one case.

    `difference` is set for a mismatch, `message` for an error or a skip. `add_special` and `parse_special`
    are what was really compared, which differs from the case's options where a side cannot honor them; `notes`
    says why. `expect` are the ids the case itself asks for, None where it names neither side; where both sides
    agree against it, `difference` is between them and `expect`. `decode_difference` holds (actual, expected)
    decoded bytes where the two sides decode the same ids differently, else None.
    """

    case: Case
    status: Status
    actual: tuple[int, ...] = ()
    expected: tuple[int, ...] = ()
    difference: Difference | None = None
    message: str | None = None
    notes: tuple[str, ...] = ()
    add_special: bool = False
    parse_special: bool = True
    expect: tuple[int, ...] | None = None
    decode_difference: tuple[bytes, bytes] | None = None


@dataclass(frozen=True, slots=True)
class PieceDifference:
    """One id that stands for different bytes on the two sides; None where a side has no such id."""

    id: int
    actual: str | None
    expected: str | None


@dataclass(frozen=True, slots=True)
class VocabularyDifference:
    """How two vocabularies differ: sizes, pieces per id, and roles of special ids.

    `respelled` counts ids whose stored strings differ but stand for the same bytes (`"  "` and `▁▁`).
    `special_ids` maps a role to (actual id, expected id), only where both sides name one and they differ.
    """

    actual_size: int
    expected_size: int
    pieces: tuple[PieceDifference, ...] = ()
    respelled: int = 0
    special_ids: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.pieces or self.special_ids or self.actual_size != self.expected_size)


@dataclass(frozen=True, slots=True)
class Side:
    """Who stood on one side of the comparison.

    `source` says where it came from (a path, `rebuilt`, a hub id), `reason` why that one was taken, `caveat`
    what it cannot prove. `aliases` are other names by which a case's `expect` may call it. `sha256` and
    `fingerprint` are lower-case hex. `settings` are the effective settings by name, `overrides` the sentences
    on what differs from the declared ones.
    """

    name: str
    source: str
    reason: str = ""
    caveat: str = ""
    aliases: tuple[str, ...] = ()
    sha256: str | None = None
    fingerprint: str | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    overrides: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """Everything a verification found; the order of `results` is that of the cases.

    `options` are what the user asked for, `versions` the versions of tokverify and the libraries involved.
    `stopped_early` is True when `--fail-fast` left cases unrun. `diagnosis` tells why cases fail; None where none does,
    or nobody asked.
    """

    actual: Side
    expected: Side
    vocabulary: VocabularyDifference
    results: tuple[CaseResult, ...]
    options: Mapping[str, object] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    stopped_early: bool = False
    diagnosis: Diagnosis | None = None

    def count(self, status: Status) -> int:
        """Count the results with `status`."""
        return sum(result.status is status for result in self.results)

    @property
    def decode_differences(self) -> int:
        """Count the cases whose ids the two sides decode differently; they do not change the exit code."""
        return sum(result.decode_difference is not None for result in self.results)

    @property
    def exit_code(self) -> int:
        """0 when every case matched, 1 on a mismatch or error, 2 when nothing could be compared."""
        if self.count(Status.MISMATCH) or self.count(Status.ERROR):
            return 1
        return 0 if self.count(Status.MATCH) else 2
