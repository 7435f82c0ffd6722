"""Report: the result of a verification, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tokverify.case import Case, Expect
from tokverify.report.diagnosis import Diagnosis
from tokverify.report.difference import DecodeDifference, Difference
from tokverify.report.fields import Count, Digest, RuleCode, RuleName
from tokverify.report.finding import Severity
from tokverify.report.known_difference import BaselineOutcome, KnownDifference
from tokverify.report.side import Side
from tokverify.report.tokenizer_difference import (
    FAIL_ON,
    NOT_COMPARED,
    Aspect,
    Origin,
    TokenizerDifference,
    Verdict,
    select_failing,
    severity_fails,
)
from tokverify.report.vocabulary_difference import VocabularyDifference
from tokverify.tokenizer import Token


class Status(StrEnum):
    """The outcome of one case."""

    MATCH = "match"
    MISMATCH = "mismatch"
    ERROR = "error"
    KNOWN = "known"
    SKIPPED = "skipped"


FAILING = frozenset({Status.MISMATCH, Status.ERROR})
"""The statuses of a case that make a run fail, unless a limit explains it."""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The outcome of one case."""

    case: Case
    """The text and its options, as the suite has them."""
    status: Status
    """How it ended."""
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
    explained_by: tuple[str, ...] = ()
    """The codes of the limits that, together, explain a mismatch completely; each of them is necessary."""

    @property
    def fails(self) -> bool:
        """Whether the case makes the report different: it fails, and neither a baseline nor a limit explains it."""
        return self.status in FAILING and not self.explained_by


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a verification."""

    actual: Side
    """The tokenizer under test, which encodes as llama.cpp does."""
    expected: Side
    """The reference."""
    vocabulary: VocabularyDifference | None
    """How the vocabularies differ; None if cases were compared with their own `expect` only."""
    results: tuple[CaseResult, ...]
    """In the order of the cases."""
    differences: tuple[TokenizerDifference, ...] = ()
    """How the tokenizers themselves differ, the most severe first."""
    not_compared: tuple[str, ...] = ()
    """What about the tokenizers could not be compared, and why."""
    rules: Count = 0
    """How many static rules were applied to the model, because the reference cannot contradict its data."""
    fail_on: tuple[str, ...] = FAIL_ON
    """What makes the run fail besides failing cases, as names of `FAIL_ON_NAMES`."""
    options: Mapping[str, object] = field(default_factory=dict)
    """What the user asked for."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """The versions of tokverify and the libraries involved."""
    suites: Mapping[str, Digest] = field(default_factory=dict)
    """Suite -> the version of its selected cases: a hash of their texts, options and expectations."""
    stopped_early: bool = False
    """Whether cases were not run because enough others had failed."""
    gone: str = ""
    """Why the comparison is incomplete although nobody asked for that: a side has stopped answering."""
    diagnosis: Diagnosis | None = None
    """Why cases fail; None if none does, nobody asked, or it cannot be found out."""
    undiagnosed: str = ""
    """Why there is no diagnosis although cases fail."""
    baseline: BaselineOutcome | None = None
    """The entries that the baseline could do without; None if there was no baseline."""
    tokens: Mapping[int, tuple[Token, Token]] = field(default_factory=dict)
    """Id of a result without a difference -> its tokens on the (actual, expected) side."""
    limits: tuple[AppliedLimit, ...] = ()
    """The limits that explain cases, in the order of their codes."""
    strict: bool = False
    """Whether cases that limits explain make the run fail, too."""

    @property
    def verdict(self) -> Verdict:
        """What the report concludes."""
        compared = {result.status for result in self.results} - {Status.SKIPPED}
        if self.gone or not compared:
            return Verdict.NOT_COMPARABLE
        if self._is_different:
            return Verdict.DIFFERENT
        if Status.KNOWN in compared or any(difference.known for difference in self.differences):
            return Verdict.ACCEPTED
        return Verdict.FAITHFUL if self.limits else Verdict.EQUAL

    @property
    def ok(self) -> bool:
        """Whether the run passes."""
        return self.exit_code == 0

    @property
    def exit_code(self) -> int:
        """Return 0 if the run passes, 1 if it fails, 2 if nothing was compared."""
        if self.verdict is Verdict.NOT_COMPARABLE:
            return 2
        fails = self.verdict is Verdict.DIFFERENT or (self.strict and (bool(self.limits) or self.is_unpredictable))
        return 1 if fails else 0

    @property
    def is_unpredictable(self) -> bool:
        """Whether the file has keys because of which other ids than these may be right in another build."""
        return any(difference.aspect is Aspect.KEYS and not difference.known for difference in self.differences)

    @property
    def _is_different(self) -> bool:
        """Whether a case, a limit or a difference makes the run fail."""
        fails = any(result.fails for result in self.results)
        fails = fails or any(severity_fails(limit.severity, self.fail_on) for limit in self.limits)
        return fails or bool(select_failing(self.differences, self.fail_on)) or self.fails_uncompared

    @property
    def fails_uncompared(self) -> bool:
        """Whether the run fails because something was not compared, which happens only on request."""
        skipped = any(result.status is Status.SKIPPED for result in self.results)
        return NOT_COMPARED in self.fail_on and (bool(self.not_compared) or skipped)


def count_status(report: Report, status: Status) -> int:
    """Count the results with a status."""
    return sum(result.status is status for result in report.results)


def count_decode_differences(report: Report) -> int:
    """Count the cases whose ids the two sides decode differently; they do not change the exit code."""
    return sum(result.decode_difference is not None for result in report.results)


def has_failing_case(report: Report) -> bool:
    """Check whether a case fails that neither a baseline nor a limit explains."""
    return any(result.fails for result in report.results)


def count_explained(report: Report) -> int:
    """Count the cases that limits explain."""
    return sum(bool(result.explained_by) for result in report.results)


def failing_differences(report: Report) -> tuple[TokenizerDifference, ...]:
    """Return the differences between the tokenizers that make the run fail."""
    return select_failing(report.differences, report.fail_on)


def run_exit_code(report: Report) -> int:
    """Return the exit code that follows from the verdict."""
    return report.exit_code


def compares_nothing(report: Report) -> bool:
    """Check whether nothing was compared."""
    return report.verdict is Verdict.NOT_COMPARABLE and not report.gone


def other_side(result: CaseResult) -> str:
    """Name the side opposite `actual`: the case's own `expect` where both sides agree against it."""
    return "expect" if result.difference and result.actual == result.expected else "expected"


def can_match(result: CaseResult) -> bool:
    """Check whether a case would match with the expected side's ids, which its own `expect` may contradict."""
    if result.expect is None or result.difference is None:
        return True
    if result.actual == result.expected:
        return False
    pieces = tuple(token.piece for block in result.difference.blocks for token in block.expected)
    return result.expect in {result.expected, pieces}


def vocabularies_differ(vocabulary: VocabularyDifference | None) -> bool:
    """Check whether two vocabularies were compared and differ; tokens that are only stored differently do not count."""
    if vocabulary is None:
        return False
    sizes_differ = vocabulary.actual_size != vocabulary.expected_size
    return sizes_differ or bool(vocabulary.pieces or vocabulary.special_ids)


def summarize_run(report: Report) -> Mapping[str, object]:
    """Return the `summary` of the JSON report."""
    return {
        "exit_code": report.exit_code,
        "verdict": str(report.verdict),
        "cases": len(report.results),
        **{str(status): count_status(report, status) for status in Status},
        "explained": count_explained(report),
        "unexplained": sum(result.fails for result in report.results),
        "decode_differences": count_decode_differences(report),
        "vocabularies_differ": vocabularies_differ(report.vocabulary),
        "differences": len(report.differences),
        "failing_differences": len(failing_differences(report)),
        "stopped_early": report.stopped_early,
        "gone": report.gone,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedLimit:
    """Why cases differ although the file is as good as it can be."""

    code: RuleCode
    """The code, such as `TL003`."""
    name: RuleName
    """The name, such as `no-normalizer`."""
    origin: Origin
    """`runtime` or `convention`."""
    severity: Severity
    """Below ERROR."""
    message: str
    """What llama.cpp does differently here, as a clause that completes `because`."""
    cases: Count
    """How many cases need it to be explained, alone or with other limits."""
    advice: str
    """How to live with it."""
