"""Verify one tokenizer against another: encode every case on both sides and report where they differ."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tokverify.errors import EncodeError, UnsupportedError
from tokverify.report.run import CaseResult, Report, Status
from tokverify.report.run_summary import FAILING
from tokverify.report.tokenizer_difference import FAIL_ON
from tokverify.text.utf8 import has_surrogate, to_utf8
from tokverify.tokenizer import pairs_for_display, tokens_for_display
from tokverify.verify.alignment import compare, compare_decoded
from tokverify.verify.batch import Answers, KnownIds
from tokverify.verify.digest import digest_suites
from tokverify.verify.expectation import (
    agrees,
    describe_agreement,
    describe_missing,
    expect_of,
    expect_side,
    expected_tokens,
)
from tokverify.verify.failure import FAILURES, Failure, combine
from tokverify.verify.mode import Mode, Modes, mode_of
from tokverify.verify.side import side_of
from tokverify.verify.tokenizer_comparison import compare_tokenizers, describe_decoding, sort_by_severity
from tokverify.verify.vocabulary import compare_vocabularies

if TYPE_CHECKING:
    from tokverify.cases.case import Case, Expect
    from tokverify.report.difference import DecodeDifference
    from tokverify.report.run import Side
    from tokverify.tokenizer import Tokenizer
    from tokverify.verify.baseline import Baseline

_NO_NOTES: tuple[str, ...] = ()

_TOGETHER = 32
"""How many cases are encoded together, which is faster than one at a time, before the first of them is reported."""


def verify_tokenizers(  # noqa: PLR0913 - the optional ones are keywords
    actual: Tokenizer,
    expected: Tokenizer | None,
    cases: Iterable[Case],
    *,
    sides: tuple[Side, Side] | None = None,
    baseline: Baseline | None = None,
    max_failures: int | None = None,
    fail_on: Sequence[str] = FAIL_ON,
    on_progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Compare two tokenizers, and the ids of every case.

    A case that one side cannot encode is an error in the report, not an exception.

    Args:
        actual: The tokenizer under test.
        expected: The one that is assumed to be right; None to compare with what each case itself expects from `actual`.
        cases: The texts to encode, in the order of the report.
        sides: How the report describes the two; derived from the tokenizers by default.
        baseline: The failures that are known and accepted.
        max_failures: Stop after this many failing cases; None to run all.
        fail_on: What makes the report fail besides failing cases, as names of `FAIL_ON_NAMES`.
        on_progress: Called after each case with the number of cases done and of all.
    """
    from tokverify.version import __version__

    cases = list(cases)
    sides = sides or (side_of(actual), side_of(expected) if expected else expect_side(cases))
    judge = baseline.judge(sides[0]) if baseline else None
    compared = _comparison(actual, expected, sides).results(cases)
    accepted = map(judge.apply, compared) if judge else compared
    results = tuple(_watch(accepted, len(cases), max_failures, on_progress))
    report = Report(
        *sides,
        vocabulary=compare_vocabularies(actual, expected) if expected else None,
        results=results,
        fail_on=tuple(fail_on),
        versions={"tokverify": __version__},
        suites=digest_suites(cases),
        stopped_early=len(results) < len(cases),
        tokens=pairs_for_display(actual, expected or actual, _undisputed_ids(results)),
    )
    report = compare_beyond_texts(report, actual, expected)
    return judge.judge_rest(report) if judge else report


def compare_beyond_texts(report: Report, actual: Tokenizer, expected: Tokenizer | None) -> Report:
    """Add to a report how the tokenizers differ in more than the ids of texts."""
    if expected is None:
        return report
    compared = compare_tokenizers(actual, expected, report.vocabulary)
    decoding = describe_decoding(report.results)
    differences = [*compared.differences, *([decoding] if decoding else [])]
    return replace(report, differences=tuple(sort_by_severity(differences)), not_compared=tuple(compared.not_compared))


def compare_cases(
    actual: Tokenizer, expected: Tokenizer | None, cases: Iterable[Case], known: KnownIds | None = None
) -> tuple[CaseResult, ...]:
    """Compare every case, without aligning the tokens where they differ, which takes longer than all the rest.

    Pass the same `known` to compare several tokenizers with one reference, which then encodes each text once.
    """
    cases = list(cases)
    sides = (side_of(actual), side_of(expected) if expected else expect_side(cases))
    comparison = _comparison(actual, expected, sides, aligns=False, known=known)
    return tuple(comparison.results(cases))


def compare_case(actual: Tokenizer, expected: Tokenizer, case: Case, sides: tuple[Side, Side]) -> CaseResult:
    """Compare one case; the sides appear in its messages."""
    return next(_comparison(actual, expected, sides).results([case]))


def _undisputed_ids(results: Iterable[CaseResult]) -> Iterator[int]:
    """Yield the ids whose tokens are not part of a difference in the report."""
    for result in results:
        if result.difference is None:
            yield from result.actual


def _watch(
    results: Iterable[CaseResult],
    count: int,
    max_failures: int | None,
    on_progress: Callable[[int, int], None] | None,
) -> Iterator[CaseResult]:
    """Pass results on as they come and report the progress; end with the last failure that is allowed."""
    failures = 0
    for done, result in enumerate(results, 1):
        yield result
        if on_progress:
            on_progress(done, count)
        failures += result.status in FAILING
        if failures == max_failures:
            return


def _comparison(
    actual: Tokenizer,
    expected: Tokenizer | None,
    sides: tuple[Side, Side],
    *,
    aligns: bool = True,
    known: KnownIds | None = None,
) -> _Comparison:
    ours = Answers(actual, expected or actual, f"actual ({sides[0].name})")
    if expected is None:
        return _ExpectComparison(actual, sides[0], ours, aligns)
    theirs = Answers(expected, actual, f"expected ({sides[1].name})", known)
    return _ReferenceComparison(actual, sides[0], ours, aligns, expected, sides[1], theirs, Modes(actual, expected))


@dataclass(frozen=True, slots=True)
class _Comparison(ABC):
    """Compares a tokenizer with something else, case by case."""

    actual: Tokenizer
    actual_side: Side
    ours: Answers
    """What the actual side answers."""

    aligns: bool
    """Whether to align the tokens where they differ."""

    def results(self, cases: Sequence[Case]) -> Iterator[CaseResult]:
        """Compare cases."""
        for start in range(0, len(cases), _TOGETHER):
            together = cases[start : start + _TOGETHER]
            modes = list(map(self._choose_mode, together))
            asked = [at for at, case in enumerate(together) if not has_surrogate(case.text)]
            self._ask([together[at].text for at in asked], [modes[at] for at in asked])
            yield from map(self._result, together, modes)

    def _ask(self, texts: Sequence[str], modes: Sequence[Mode]) -> None:
        """Ask for everything that is compared of these texts."""
        self.ours.encode_all(texts, modes)

    def _result(self, case: Case, mode: Mode) -> CaseResult:
        try:
            return self._compare(case, mode)
        except EncodeError as error:
            return CaseResult(case, Status.ERROR, message=str(error), **mode._asdict())
        except UnsupportedError as error:
            return CaseResult(case, Status.SKIPPED, message=str(error), **mode._asdict())

    @abstractmethod
    def _choose_mode(self, case: Case) -> Mode:
        """Return the options with which to compare a case."""

    @abstractmethod
    def _compare(self, case: Case, mode: Mode) -> CaseResult:
        """Compare one case with these options."""


@dataclass(frozen=True, slots=True)
class _ExpectComparison(_Comparison):
    """Compares with what each case itself expects."""

    def _choose_mode(self, case: Case) -> Mode:
        return mode_of(case)

    def _compare(self, case: Case, mode: Mode) -> CaseResult:
        to_utf8(case.text)
        expect = self._expect(case, mode)
        actual = self.ours.ids(case.text, mode)
        if agrees(expect, self.actual, actual):
            return CaseResult(case, Status.MATCH, actual, actual, expect=expect, **mode._asdict())
        tokens = expected_tokens(expect, self.actual, actual)
        return CaseResult(
            case,
            Status.MISMATCH,
            actual,
            tuple(token.id for token in tokens),
            difference=compare(tokens_for_display(self.actual, actual), tokens) if self.aligns else None,
            notes=describe_missing(tokens),
            expect=expect,
            **mode._asdict(),
        )

    def _expect(self, case: Case, mode: Mode) -> Expect:
        expect = expect_of(case, self.actual_side)
        if expect is None:
            others = f", only for {', '.join(case.expect)}" if case.expect else ""
            raise UnsupportedError(f"the case has no `expect` for {self.actual_side.name}{others}")
        supported = (self.actual.adds_special, self.actual.parses_special)
        if any(option and not can for option, can in zip(mode, supported, strict=True)):
            raise UnsupportedError(f"{self.actual_side.name} cannot encode with the options of this case")
        return expect


@dataclass(frozen=True, slots=True)
class _ReferenceComparison(_Comparison):
    """Compares with another tokenizer, and with what a case itself expects from either side."""

    expected: Tokenizer
    expected_side: Side

    theirs: Answers
    """What the expected side answers."""

    modes: Modes

    def _ask(self, texts: Sequence[str], modes: Sequence[Mode]) -> None:
        self.ours.encode_all(texts, modes)
        expected = [ids for ids in self.theirs.encode_all(texts, modes) if not isinstance(ids, FAILURES)]
        self.ours.decode_all(expected)
        self.theirs.decode_all(expected)

    def _choose_mode(self, case: Case) -> Mode:
        return self.modes.choose(case.text, mode_of(case))

    def _compare(self, case: Case, mode: Mode) -> CaseResult:
        to_utf8(case.text)
        expect, owner = self._expect(case)
        actual, expected = self._ids(case.text, mode, is_expected=expect is not None)
        notes = _NO_NOTES
        # The expectation of a shipped case is for the one model with which it was found.
        if case.expect and expect is None and not case.shipped:
            notes = (f"`expect` is for {', '.join(case.expect)}, which names neither side; it was not checked",)
        if decisive := self.modes.decisive_options(case.text, mode_of(case), mode):
            expect, notes = None, self._describe_mode(case.text, decisive, expect)
        decoded, decode_notes = self._decode(expected)
        result = CaseResult(
            case,
            Status.MATCH,
            actual,
            expected,
            notes=notes + decode_notes,
            expect=expect,
            decode_difference=decoded,
            **mode._asdict(),
        )
        agreed = expect is None or agrees(expect, owner, actual)
        return result if actual == expected and agreed else self._mismatch(result, owner)

    def _describe_mode(self, text: str, decisive: Iterable[str], expect: Expect | None) -> tuple[str, ...]:
        notes = [f"compared with {self.modes.reason(option, text)}" for option in decisive]
        if expect is not None:
            notes.append("the case's own `expect` was not checked, because it is for other options")
        return tuple(notes)

    def _mismatch(self, result: CaseResult, owner: Tokenizer) -> CaseResult:
        if not self.aligns and result.expect is None:
            return replace(result, status=Status.MISMATCH)
        notes = result.notes + describe_agreement(result, owner)
        if result.actual != result.expected or result.expect is None:
            right = tokens_for_display(self.expected, result.expected)
        else:
            right = expected_tokens(result.expect, owner, result.actual)
            notes += describe_missing(right)
        return replace(
            result,
            status=Status.MISMATCH,
            difference=compare(tokens_for_display(self.actual, result.actual), right),
            notes=notes,
        )

    def _ids(self, text: str, mode: Mode, *, is_expected: bool) -> list[tuple[int, ...]]:
        """Return the ids of both sides; if neither has any, that is an error only if the case itself expects tokens."""
        results: list[tuple[int, ...]] = []
        failures: list[Failure] = []
        for answers in (self.ours, self.theirs):
            try:
                results.append(answers.ids(text, mode))
            except FAILURES as failure:
                failures.append(failure)
        if failures:
            both = combine(failures)
            raise EncodeError(str(both)) if is_expected and not results else both
        return results

    def _decode(self, ids: tuple[int, ...]) -> tuple[DecodeDifference | None, tuple[str, ...]]:
        """Compare what both sides decode the same ids to; return how the results differ, and notes."""
        try:
            actual, expected = self.ours.text(ids), self.theirs.text(ids)
        except FAILURES as failure:
            return None, (f"decoding was not compared: {failure}",)
        return compare_decoded(actual, expected), ()

    def _expect(self, case: Case) -> tuple[Expect | None, Tokenizer]:
        """Return what the case itself expects from one of the two sides, and that side."""
        expect = expect_of(case, self.actual_side)
        if expect is not None:
            return expect, self.actual
        return expect_of(case, self.expected_side), self.expected
