"""Compare a converted tokenizer with its source, and find which losses explain the differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count as numbers
from typing import TYPE_CHECKING

from tokverify.case import Case
from tokverify.compare.comparison import verify_tokenizers
from tokverify.compare.fuzz.case_result import make_case_result
from tokverify.compare.fuzz.cause import Causes
from tokverify.compare.fuzz.trial import Trial, TrialOutcome
from tokverify.compare.limits.explaining import Explainer as LimitExplainer
from tokverify.compare.limits.explaining import explainer_of
from tokverify.compare.limits.limit import Text
from tokverify.compare.opened import Opened
from tokverify.errors import GoneError, TokverifyError
from tokverify.report.fuzz import DifferenceKind
from tokverify.report.run import CaseResult, Report, Side, Status
from tokverify.texts.generator import GENERATORS, make_batch, select_usable
from tokverify.texts.sample import Sample, common_vocabulary
from tokverify.texts.shrink import shrink
from tokverify.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokverify.compare.convert.loss import Loss

Without = Callable[[Sequence["Loss"]], tuple["Tokenizer", "Tokenizer"]]

_SHOWN = 60
"""How many failing texts are shrunk and grouped by cause."""
_NO_REASON = "not explained"
_UNEXPLAINED = 5
"""How many texts that nothing explains are shrunk to what nothing explains."""


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of a verification."""

    report: Report
    """The cases, followed by a minimal text for each cause that the generated texts showed."""
    strings: int
    """The number of generated texts."""
    differing: int
    """How many of the cases and generated texts differ."""
    explained: tuple[int, ...]
    """How many of these each loss explains by itself."""
    unexplained: int
    """How many of these all losses together do not explain."""


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


class Explainer:
    """Determines which losses explain a difference, by comparing again without them.

    `without` returns both sides of the comparison without some losses. They are kept, because making a tokenizer takes
    the most time. If there is no valid tokenizer without them, these losses explain nothing.
    """

    def __init__(self, losses: Sequence[Loss], without: Without) -> None:
        self.losses = losses
        self._without = without
        self._made: dict[tuple[int, ...], Trial | None] = {}
        self.limits = LimitExplainer(None)
        """What explains differences by limits of llama.cpp."""

    def find_limits(self, outcome: TrialOutcome) -> tuple[str, ...]:
        """Return the codes of the limits of llama.cpp that explain an outcome completely."""
        if outcome.kind is not DifferenceKind.IDS:
            return ()
        sample = outcome.sample
        return self.limits.find(Text(sample.text, sample.add_special, sample.parse_special, tuple(outcome.expected)))

    def unexplained(self, differing: Sequence[TrialOutcome]) -> list[TrialOutcome]:
        """Return the outcomes that all losses together do not explain."""
        return self._filter(differing, tuple(range(len(self.losses))))

    def without_reason(self, differing: Sequence[TrialOutcome]) -> list[TrialOutcome]:
        """Return the outcomes that neither all losses together nor limits explain."""
        return [outcome for outcome in self.unexplained(differing) if not self.find_limits(outcome)]

    def unexplained_by(self, index: int, differing: Sequence[TrialOutcome]) -> list[TrialOutcome]:
        """Return the outcomes that one loss alone does not explain."""
        return self._filter(differing, (index,))

    def reason(self, outcome: TrialOutcome) -> str | None:
        """Return what explains an outcome, a loss or a limit; None if nothing does."""
        # A loss comes first: it names the part of this very source.
        for index, loss in enumerate(self.losses):
            if not self.unexplained_by(index, [outcome]):
                return loss.sentence
        if codes := self.find_limits(outcome):
            return self.limits.describe(codes)
        return None if self.unexplained([outcome]) else "several losses together"

    def _filter(self, differing: Sequence[TrialOutcome], indices: tuple[int, ...]) -> list[TrialOutcome]:
        losses = [self.losses[index] for index in indices]
        remaining = list(zip(differing, differing, strict=True))
        trial = self._trial(indices) if differing and any(loss.undo for loss in losses) else None
        if trial:
            again = trial.run([outcome.sample for outcome in differing])
            remaining = [(outcome, other) for outcome, other in zip(differing, again, strict=True) if other]
        return [outcome for outcome, other in remaining if not _is_excused(other, losses)]

    def _trial(self, indices: tuple[int, ...]) -> Trial | None:
        if indices not in self._made:
            try:
                self._made[indices] = Trial(*self._without([self.losses[index] for index in indices]))
            except TokverifyError:
                self._made[indices] = None
        return self._made[indices]


def _is_excused(outcome: TrialOutcome, losses: Sequence[Loss]) -> bool:
    return outcome.kind is DifferenceKind.IDS and any(
        loss.excuse(outcome.actual, outcome.expected) for loss in losses if loss.excuse
    )


def verify_conversion(trial: Trial, sides: tuple[Side, Side], plan: Plan, explainer: Explainer) -> Verification:
    """Compare the converted tokenizer, the actual side of the trial, with its source."""
    report = verify_tokenizers(
        trial.actual, trial.expected, plan.cases, sides=sides, on_progress=lambda done, _: plan.report_progress(done)
    )
    if report.gone:
        raise GoneError(report.gone)
    generated = list(_try_strings(trial, plan))
    differing = [outcome for outcome in map(trial.outcome, _failing_samples(report)) if outcome] + generated
    explainer.limits = explainer_of(trial.actual, Opened(trial.expected))
    unexplained = explainer.without_reason(differing)
    causes = [*_unexplained_causes(trial, unexplained, explainer), *_causes(trial, generated[:_SHOWN], explainer)]
    return Verification(
        replace(report, results=(*report.results, *causes)),
        strings=plan.count,
        differing=len(differing),
        explained=tuple(
            len(differing) - len(explainer.unexplained_by(index, differing)) for index in range(len(explainer.losses))
        ),
        unexplained=len(unexplained),
    )


def _try_strings(trial: Trial, plan: Plan) -> Iterator[TrialOutcome]:
    """Yield the generated texts that differ."""
    vocabulary = common_vocabulary(trial.actual, trial.expected)
    names = select_usable(tuple(GENERATORS), vocabulary)
    done = 0
    for number in numbers():
        samples = make_batch(names, vocabulary, plan.seed, number)[: plan.count - done]
        if not samples:
            return
        yield from (outcome for outcome in trial.run(samples) if outcome and outcome.kind is not DifferenceKind.SKIPPED)
        done += len(samples)
        plan.report_progress(len(plan.cases) + done)


def _failing_samples(report: Report) -> Iterator[Sample]:
    for result in report.results:
        if result.status in {Status.MISMATCH, Status.ERROR}:
            yield Sample(result.case.text, result.add_special, result.parse_special)


def _unexplained_causes(
    trial: Trial, unexplained: Sequence[TrialOutcome], explainer: Explainer
) -> Iterator[CaseResult]:
    """Yield a minimal text for some outcomes that nothing explains; it is not explained either."""

    def fails(sample: Sample) -> bool:
        outcome = trial.outcome(sample)
        return outcome is not None and bool(explainer.without_reason([outcome]))

    shown: set[Sample] = set()
    for outcome in unexplained[:_UNEXPLAINED]:
        minimal = shrink(outcome.sample, fails)
        found = trial.outcome(minimal)
        if found and minimal not in shown:
            shown.add(minimal)
            yield replace(make_case_result(found, trial, suite="found", tags=("fuzz", "convert")), notes=(_NO_REASON,))


def _causes(trial: Trial, shown: Sequence[TrialOutcome], explainer: Explainer) -> Iterator[CaseResult]:
    causes = Causes(trial)
    for outcome in shown:
        causes.add(outcome, "convert")
    for cause in causes.listed:
        if reason := explainer.reason(cause.outcome):
            yield replace(cause.result, notes=(f"explained by: {reason}",))
