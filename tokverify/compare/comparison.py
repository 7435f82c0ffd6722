"""Verify one tokenizer against another: encode every case on both sides and report where they differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from tokverify.case import Case
from tokverify.compare.case_comparison import TOGETHER, comparison_of
from tokverify.compare.digest import digest_suites
from tokverify.compare.expectation import expect_side
from tokverify.compare.side import side_of
from tokverify.compare.tokenizer_comparison import compare_tokenizers, describe_decoding, sort_by_severity
from tokverify.errors import GoneError
from tokverify.report.run import AppliedLimit, CaseResult, Report, Status
from tokverify.report.side import Side
from tokverify.report.tokenizer_difference import FAIL_ON
from tokverify.text.wording import plural
from tokverify.texts.batch import Known
from tokverify.texts.vocabulary import compare_vocabularies
from tokverify.tokenizer import Tokenizer, pairs_for_display

if TYPE_CHECKING:
    from tokverify.compare.baseline import Baseline
    from tokverify.compare.limits.explaining import Explainer
    from tokverify.compare.opened import Opened


def verify_tokenizers(  # noqa: PLR0913 - the optional ones are keywords
    actual: Tokenizer,
    expected: Tokenizer | None,
    cases: Iterable[Case],
    *,
    sides: tuple[Side, Side] | None = None,
    baseline: Baseline | None = None,
    max_failures: int | None = None,
    fail_on: Sequence[str] = FAIL_ON,
    strict: bool = False,
    facts: Opened | None = None,
    explain: bool = True,
    only_texts: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Compare two tokenizers, and the ids of every case.

    A case that one side cannot encode is an error in the report, not an exception. If a side stops answering, the
    report says so, and contains the results until then.

    Args:
        actual: The tokenizer under test.
        expected: The one that is assumed to be right; None to compare with what each case itself expects from `actual`.
        cases: The texts to encode, in the order of the report.
        sides: How the report describes the two; derived from the tokenizers by default.
        baseline: The failures that are known and accepted.
        max_failures: Stop after this many failing cases; None to run all.
        fail_on: What makes the report fail besides failing cases, as names of `FAIL_ON_NAMES`.
        strict: Let cases fail even if limits of llama.cpp explain them.
        facts: What is known about `expected`; by default, as much as it says itself.
        explain: Whether limits of llama.cpp may explain cases; False if `expected` should do exactly as it does.
        only_texts: Compare nothing but the ids of texts, and the vocabularies.
        on_progress: Called after each case with the number of cases done and of all.

    Raises:
        GoneError: If a side stops answering before there is any result.
    """
    from tokverify.version import __version__

    cases = list(cases)
    sides = sides or (side_of(actual), side_of(expected) if expected else expect_side(cases))
    judge = baseline.judge(sides[0]) if baseline else None
    explainer = _LazyExplainer(actual, facts, expected)
    compared = comparison_of(actual, expected, sides).results(cases)
    if explain:
        compared = map(explainer.explain, compared)
    accepted = map(judge.apply, compared) if judge else compared
    results: list[CaseResult] = []
    report = Report(
        *sides,
        vocabulary=None,
        results=(),
        fail_on=tuple(fail_on),
        versions={"tokverify": __version__},
        suites=digest_suites(cases),
        strict=strict,
    )
    try:
        for result in _watch(accepted, len(cases), max_failures, on_progress):
            results.append(result)  # noqa: PERF402 - those before an error count
        report = replace(
            report,
            vocabulary=compare_vocabularies(actual, expected) if expected else None,
            results=tuple(results),
            stopped_early=len(results) < len(cases),
            tokens=pairs_for_display(actual, expected or actual, _undisputed_ids(results)),
            limits=explainer.applied_to(results),
        )
        if not only_texts:
            report = compare_beyond_texts(report, actual, expected, facts)
    except GoneError as error:
        if not results:
            raise
        missing = (
            f"{len(cases) - len(results):,} of {plural(len(cases), 'case')}, and the tokenizers themselves: {error}"
        )
        known_limits = explainer.applied_to(results)
        return replace(report, results=tuple(results), limits=known_limits, not_compared=(missing,), gone=str(error))
    return judge.judge_rest(report) if judge else report


@dataclass(frozen=True)
class _LazyExplainer:
    """Explains results by limits; their table is loaded for the first result that differs."""

    actual: Tokenizer
    facts: Opened | None
    expected: Tokenizer | None

    def explain(self, result: CaseResult) -> CaseResult:
        """Return a result with the limits that explain it."""
        return self._explainer.explain(result) if result.status is Status.MISMATCH else result

    def applied_to(self, results: Sequence[CaseResult]) -> tuple[AppliedLimit, ...]:
        """Describe the limits that explain results."""
        return self._explainer.applied_to(results) if any(result.explained_by for result in results) else ()

    @cached_property
    def _explainer(self) -> Explainer:
        from tokverify.compare.limits.explaining import explainer_of
        from tokverify.compare.opened import Opened

        return explainer_of(self.actual, self.facts or Opened(self.expected))


def compare_beyond_texts(
    report: Report, actual: Tokenizer, expected: Tokenizer | None, facts: Opened | None = None
) -> Report:
    """Add to a report how the tokenizers differ in more than the ids of texts; `facts` are those of `expected`."""
    if expected is None:
        return report
    compared = compare_tokenizers(actual, expected, report.vocabulary, facts=facts)
    differences, decoding = [*compared.differences], describe_decoding(report.results)
    differs = any(result.actual != result.expected for result in report.results)
    if differs or decoding:
        from tokverify.compare.damage import find_damage
        from tokverify.compare.damage.decoder import blame_decoder
        from tokverify.compare.opened import Opened

        facts = facts or Opened(expected)
        differences += find_damage(actual, facts) if differs else ()
        differences += [blame_decoder(decoding, actual, facts)] if decoding else []
    return replace(report, differences=tuple(sort_by_severity(differences)), not_compared=tuple(compared.not_compared))


def compare_cases(
    actual: Tokenizer,
    expected: Tokenizer | None,
    cases: Iterable[Case],
    known: Known | None = None,
    *,
    decodes: bool = True,
) -> tuple[CaseResult, ...]:
    """Compare every case, without aligning the tokens where they differ, which takes longer than all the rest.

    Without `expected`, each case is compared with what it expects itself. To compare several tokenizers with one
    reference, pass the same `known`: what it is known to answer.
    """
    cases = list(cases)
    sides = (side_of(actual), side_of(expected) if expected else expect_side(cases))
    comparison = comparison_of(actual, expected, sides, aligns=False, decodes=decodes, known=known)
    return tuple(comparison.results(cases, count=max(TOGETHER, len(cases))))


def compare_case(actual: Tokenizer, expected: Tokenizer, case: Case, sides: tuple[Side, Side]) -> CaseResult:
    """Compare one case; the sides appear in its messages."""
    return next(comparison_of(actual, expected, sides).results([case]))


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
        failures += result.fails
        if failures == max_failures:
            return
