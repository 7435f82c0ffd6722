"""Compare a converted tokenizer with its source as `run` and `fuzz` do, with limits of llama.cpp as explanations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from tokverify.case import Case
from tokverify.compare.comparison import verify_tokenizers
from tokverify.compare.fuzz.loop import fuzz
from tokverify.compare.fuzz.plan import FuzzPlan
from tokverify.compare.opened import OpenedReference
from tokverify.errors import GoneError
from tokverify.report.fuzz import DifferenceKind, FuzzReport, Stop
from tokverify.report.run import AppliedLimit, CaseResult, Report, Status
from tokverify.report.side import Side
from tokverify.tokenizer import Tokenizer

_DIFFERING = frozenset({Status.MISMATCH, Status.ERROR})


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of a verification."""

    report: Report
    """The cases, followed by a minimal text for each cause that the generated texts showed."""
    differing: int
    """How many of the cases and generated texts differ."""
    unexplained: int
    """How many of these no limit of llama.cpp explains."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The texts to compare."""

    cases: Sequence[Case]
    count: int
    """The number of generated texts."""
    seed: int = 0
    """The same seed generates the same texts."""
    on_progress: Callable[[int, int], None] | None = None
    """Called with the number of texts done and the total."""

    def report_progress(self, done: int) -> None:
        """Report the number of texts done."""
        if self.on_progress:
            self.on_progress(done, len(self.cases) + self.count)


def verify_conversion(
    actual: Tokenizer, expected: OpenedReference, sides: tuple[Side, Side], plan: Plan
) -> Verification:
    """Compare the converted tokenizer with its source, either of which is the actual one.

    Raises:
        GoneError: If one of them stops answering.
    """
    report = verify_tokenizers(
        actual,
        expected.tokenizer,
        plan.cases,
        sides=sides,
        facts=expected,
        on_progress=lambda done, _: plan.report_progress(done),
    )
    if report.gone:
        raise GoneError(report.gone)
    differing = [result for result in report.results if result.status in _DIFFERING]
    unexplained = [result for result in differing if not result.explained_by]
    if not plan.count:
        return Verification(report, len(differing), len(unexplained))
    fuzzed = _try_generated_texts(actual, expected, sides, plan)
    return Verification(
        replace(
            report,
            results=(*report.results, *_found(fuzzed)),
            limits=_add_limits(report.limits, fuzzed.report.limits),
        ),
        len(differing) + fuzzed.failing + fuzzed.explained,
        len(unexplained) + fuzzed.failing,
    )


def _try_generated_texts(
    actual: Tokenizer, expected: OpenedReference, sides: tuple[Side, Side], plan: Plan
) -> FuzzReport:
    fuzzed = fuzz(
        actual,
        expected.tokenizer,
        FuzzPlan(count=plan.count, seed=plan.seed),
        sides=sides,
        facts=expected,
        on_progress=lambda progress: plan.report_progress(len(plan.cases) + progress.strings),
    )
    if fuzzed.stop is Stop.INTERRUPTED:
        raise KeyboardInterrupt
    if fuzzed.gone:
        raise GoneError(fuzzed.gone)
    return fuzzed


def _found(fuzzed: FuzzReport) -> Iterator[CaseResult]:
    for cause, result in zip(fuzzed.causes, fuzzed.report.results, strict=True):
        if cause.kind is not DifferenceKind.SKIPPED:
            yield result


def _add_limits(*groups: Sequence[AppliedLimit]) -> tuple[AppliedLimit, ...]:
    """Join the limits of several comparisons, with the number of texts that each explains in all of them."""
    counts = Counter[str]()
    first: dict[str, AppliedLimit] = {}
    for limit in (limit for group in groups for limit in group):
        counts[limit.code] += limit.cases
        first.setdefault(limit.code, limit)
    return tuple(replace(first[code], cases=counts[code]) for code in sorted(first))
