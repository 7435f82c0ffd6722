"""Report: what came out of a verification, as data; `tokverify.render` turns it into text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from tokverify.cases.case import Case, Expect
from tokverify.report.diagnosis import Diagnosis
from tokverify.report.difference import DecodeDifference, Difference
from tokverify.report.fields import Count, Digest
from tokverify.tokenizer import Token


class Status(StrEnum):
    """The outcome of one case."""

    MATCH = "match"
    MISMATCH = "mismatch"
    ERROR = "error"
    KNOWN = "known"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDifference:
    """A failure that a baseline lists: that of one case, failing in one way only.

    `case` is suite/id, `difference` the digest of how it fails (`verify.baseline.digest`), and `about` says the same in
    words. `expires` is the last day on which it is accepted, None for no end. `model` is a shell-style pattern for
    the model's name, None for any. `place` is the file and line of the entry.
    """

    case: str
    difference: str
    reason: str
    expires: date | None = None
    model: str | None = None
    about: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class BaselineOutcome:
    """What became of the entries of a baseline that accepted nothing.

    The cases of those in `fixed` match now. The cases of those in `not_run` were not among the ones that ran. `source`
    is the baseline's file.
    """

    source: str
    fixed: tuple[KnownDifference, ...] = ()
    not_run: tuple[KnownDifference, ...] = ()


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The outcome of one case.

    `difference` is set for a mismatch, `message` for an error or a skip; a failure that a baseline lists has one of
    these, and the entry in `known`. `add_special` and `parse_special` are what was really compared, which differs from
    the case's options where a side cannot honor them; `notes` says why. `refusals` say why entries of a baseline that
    are about the case do not accept its failure. `expect` are the ids or pieces the case itself
    asks for, None where it names neither side; where both sides agree against it, `difference` is between them and
    `expect`. `decode_difference` holds (actual, expected) decoded bytes where the two sides decode the same ids
    differently, else None.
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
    expect: Expect | None = None
    decode_difference: DecodeDifference | None = None
    known: KnownDifference | None = None
    refusals: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The case as suite/id."""
        return f"{self.case.suite}/{self.case.id}"

    @property
    def can_match(self) -> bool:
        """Whether the case would match with the ids of the expected side: its own `expect` can ask for others."""
        if self.expect is None or self.difference is None:
            return True
        if self.actual == self.expected:
            return False
        pieces = tuple(token.piece for block in self.difference.blocks for token in block.expected)
        return self.expect in {self.expected, pieces}


@dataclass(frozen=True, slots=True)
class PieceDifference:
    """One id that stands for different bytes on the two sides; None where a side has no such id."""

    id: int
    actual: str | None
    expected: str | None


NEARLY_ALL = 0.9
"""Where a larger share of the tokens differs, the reference is likely that of another model."""


@dataclass(frozen=True, slots=True)
class VocabularyDifference:
    """How two vocabularies differ: sizes, pieces per id, and roles of special ids.

    `respelled` counts ids whose stored strings differ but stand for the same bytes (`"  "` and `▁▁`).
    `special_ids` maps a role to (actual id, expected id), only where both sides name one and they differ.
    """

    actual_size: Count
    expected_size: Count
    pieces: tuple[PieceDifference, ...] = ()
    respelled: Count = 0
    special_ids: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.pieces or self.special_ids or self.actual_size != self.expected_size)


@dataclass(frozen=True, slots=True)
class Side:
    """Who stood on one side of the comparison.

    `source` says where it came from (a path, `rebuilt`, a hub id), `reason` why that one was taken, `caveat`
    what it cannot prove. `aliases` are other names by which a case's `expect` may call it, and `family` is its
    `tokenizer.ggml.model`, by which it may call all of a kind. `sha256` and `fingerprint` are lower-case hex.
    `settings` are the effective settings by name, `overrides` the sentences on what differs from the declared ones.
    """

    name: str
    source: str
    reason: str = ""
    caveat: str = ""
    aliases: tuple[str, ...] = ()
    family: str | None = None
    sha256: Digest | None = None
    fingerprint: Digest | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    overrides: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """Everything a verification found; the order of `results` is that of the cases.

    `vocabulary` is None where cases were compared with their own `expect` and nothing else. `options` are what the
    user asked for, `versions` the versions of tokverify and the libraries involved.
    `stopped_early` is True when `--fail-fast` left cases unrun. `diagnosis` tells why cases fail; None where none does,
    or nobody asked. `baseline` tells of the entries that a baseline could do without; None where there was none.
    `tokens` maps the ids of results without a difference to what they are on the (actual, expected) side.
    """

    actual: Side
    expected: Side
    vocabulary: VocabularyDifference | None
    results: tuple[CaseResult, ...]
    options: Mapping[str, object] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    stopped_early: bool = False
    diagnosis: Diagnosis | None = None
    baseline: BaselineOutcome | None = None
    tokens: Mapping[int, tuple[Token, Token]] = field(default_factory=dict)

    def count(self, status: Status) -> int:
        """Count the results with `status`."""
        return sum(result.status is status for result in self.results)

    @property
    def decode_differences(self) -> int:
        """Count the cases whose ids the two sides decode differently; they do not change the exit code."""
        return sum(result.decode_difference is not None for result in self.results)

    @property
    def exit_code(self) -> int:
        """0 when every case matched or fails as is known, 1 on a mismatch or error, 2 when nothing was compared."""
        if self.count(Status.MISMATCH) or self.count(Status.ERROR):
            return 1
        return 0 if self.count(Status.MATCH) or self.count(Status.KNOWN) else 2
