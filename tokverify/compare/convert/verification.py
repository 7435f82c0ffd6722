"""Compare a converted tokenizer with its source as `run` and `fuzz` do, with limits of llama.cpp as explanations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tokverify.case import Case
from tokverify.compare.comparison import verify_tokenizers
from tokverify.compare.fuzz.loop import fuzz
from tokverify.compare.fuzz.plan import FuzzPlan
from tokverify.compare.limits.explaining import Explainer, explainer_of
from tokverify.compare.limits.limit import Text
from tokverify.compare.opened import OpenedReference
from tokverify.engine.encoder import Encoder
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


_SHARED = frozenset({"TL013", "TL014"})
"""What tokenizers does like llama.cpp: it finds added tokens before it normalizes, and sums in double precision."""


class ConversionExplainer(Explainer):
    """Explains where a tokenizer.json differs from its source by what llama.cpp does otherwise than either of them.

    Args:
        encoder: The tokenizer as llama.cpp would encode with it.
        source: The file that was converted.
        written: The result.
    """

    def __init__(self, encoder: Encoder, source: OpenedReference, written: OpenedReference) -> None:
        super().__init__()
        self._ours = encoder
        self._written = written.tokenizer
        self._of_source, self._of_written = explainer_of(encoder, source), explainer_of(encoder, written)

    def find(self, target: Text) -> tuple[str, ...]:
        """Return the codes of the limits that, together, explain a text completely; none if they do not."""
        ours, theirs = target.encode(self._ours), target.encode(self._written)
        if ours is None or theirs is None:
            return ()
        of_source = {*self._of_source.find(target)} if target.expected != ours else set()
        of_written = {*self._of_written.find(target._replace(expected=theirs))} if theirs != ours else set()
        is_explained = bool(of_source) is (target.expected != ours) and bool(of_written) is (theirs != ours)
        if not is_explained or not of_source - of_written <= _SHARED:
            return ()
        # What both do and llama.cpp does not is no difference between them; one of these limits says two things.
        return tuple(sorted((of_source ^ of_written) | (of_source & _SHARED)))

    def describe_counts(self, counts: Mapping[str, int]) -> tuple[AppliedLimit, ...]:
        """Describe limits, given how many texts each of them explains."""
        of_source = {code: count for code, count in counts.items() if code in self._of_source.used}
        of_written = {code: count for code, count in counts.items() if code not in of_source}
        return _add_limits(self._of_source.describe_counts(of_source), self._of_written.describe_counts(of_written))


def verify_conversion(
    actual: Tokenizer, expected: OpenedReference, sides: tuple[Side, Side], plan: Plan, explainer: Explainer
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
        explain=False,
        on_progress=lambda done, _: plan.report_progress(done),
    )
    if report.gone:
        raise GoneError(report.gone)
    results = tuple(map(explainer.explain, report.results))
    report = replace(report, results=results, limits=explainer.applied_to(results))
    differing = [result for result in report.results if result.status in _DIFFERING]
    unexplained = [result for result in differing if not result.explained_by]
    if not plan.count:
        return Verification(report, len(differing), len(unexplained))
    fuzzed = _try_generated_texts(actual, expected, sides, plan, explainer)
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
    actual: Tokenizer, expected: OpenedReference, sides: tuple[Side, Side], plan: Plan, explainer: Explainer
) -> FuzzReport:
    fuzzed = fuzz(
        actual,
        expected.tokenizer,
        FuzzPlan(count=plan.count, seed=plan.seed),
        sides=sides,
        limits=explainer,
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
