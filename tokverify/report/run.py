"""Report: the result of a verification, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from tokverify.cases.case import Case as Case  # noqa: PLC0414 - render/ imports it from here
from tokverify.cases.case import Expect as Expect  # noqa: PLC0414
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
    """A failure that a baseline lists: that of one case, failing in one way only."""

    case: str
    """The case, as suite/id."""
    difference: str
    """The digest of the way in which it fails (`verify.baseline.digest`)."""
    reason: str
    """Why it is accepted."""
    expires: date | None = None
    """The last day on which it is accepted; None if there is no end."""
    model: str | None = None
    """A shell-style pattern for the model's name; None for any model."""
    about: str = ""
    """The way in which it fails, in words."""
    place: str = ""
    """The file and line of the entry."""


@dataclass(frozen=True, slots=True)
class BaselineOutcome:
    """The entries of a baseline that accepted nothing."""

    source: str
    """The baseline's file."""
    fixed: tuple[KnownDifference, ...] = ()
    """The entries whose cases match now."""
    not_run: tuple[KnownDifference, ...] = ()
    """The entries whose cases were not compared."""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The outcome of one case."""

    case: Case
    status: Status
    actual: tuple[int, ...] = ()
    """The ids of the actual side."""
    expected: tuple[int, ...] = ()
    """The ids of the expected side."""
    difference: Difference | None = None
    """How the ids differ, for a mismatch: from each other or, if both sides agree, from the case's own `expect`."""
    message: str | None = None
    """Why, for an error or a skip."""
    notes: tuple[str, ...] = ()
    """Sentences on what was compared differently than the case asks, or not at all."""
    add_special: bool = False
    """The option that was compared; it differs from the case's if a side cannot honor that."""
    parse_special: bool = True
    """The option that was compared; it differs from the case's if a side cannot honor that."""
    expect: Expect | None = None
    """The ids or pieces that the case itself asks for; None if it names neither side."""
    decode_difference: DecodeDifference | None = None
    """How the two sides decode the same ids, if they do so differently."""
    known: KnownDifference | None = None
    """The entry of a baseline that accepts the failure, which then has a `difference` or a `message`."""
    refusals: tuple[str, ...] = ()
    """Sentences on why entries of a baseline about this case do not accept its failure."""


@dataclass(frozen=True, slots=True)
class PieceDifference:
    """An id that stands for different bytes on the two sides."""

    id: int
    actual: str | None
    """The piece on this side; None if it has no such id."""
    expected: str | None
    """The piece on this side; None if it has no such id."""


NEARLY_ALL = 0.9
"""If a larger share of the tokens differs, the reference probably belongs to another model."""


@dataclass(frozen=True, slots=True)
class VocabularyDifference:
    """How two vocabularies differ."""

    actual_size: Count
    """One more than the highest id of the actual side."""
    expected_size: Count
    pieces: tuple[PieceDifference, ...] = ()
    respelled: Count = 0
    """How many tokens are stored differently but represent the same bytes, such as `"  "` and `▁▁`."""
    special_ids: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Role -> (actual id, expected id), for the roles that both sides define differently."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of the comparison."""

    name: str
    source: str
    """Where it came from: a path, `rebuilt` or a hub id."""
    reason: str = ""
    """Why this one was chosen."""
    caveat: str = ""
    """What agreement with it cannot prove."""
    aliases: tuple[str, ...] = ()
    """Other names by which a case's `expect` may call it."""
    family: str | None = None
    """Its `tokenizer.ggml.model`, by which a case's `expect` may call all models of a kind."""
    sha256: Digest | None = None
    """The hash of the file it was read from."""
    fingerprint: Digest | None = None
    """The hash of everything that determines the ids of a text."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """The effective settings, by name."""
    overrides: tuple[str, ...] = ()
    """One sentence for each declared setting that llama.cpp overrides."""


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a verification."""

    actual: Side
    expected: Side
    vocabulary: VocabularyDifference | None
    """How the vocabularies differ; None if cases were compared with their own `expect` only."""
    results: tuple[CaseResult, ...]
    """In the order of the cases."""
    options: Mapping[str, object] = field(default_factory=dict)
    """What the user asked for."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """The versions of tokverify and the libraries involved."""
    stopped_early: bool = False
    """Whether `--fail-fast` left cases unrun."""
    diagnosis: Diagnosis | None = None
    """Why cases fail; None if none does, or nobody asked."""
    baseline: BaselineOutcome | None = None
    """The entries that the baseline could do without; None if there was no baseline."""
    tokens: Mapping[int, tuple[Token, Token]] = field(default_factory=dict)
    """Id of a result without a difference -> its tokens on the (actual, expected) side."""
