"""Verify what a conversion made against what it was made from, and tell what explains where they differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count as numbers
from typing import TYPE_CHECKING

from tokverify.fuzz.cause import Causes
from tokverify.fuzz.generator import GENERATORS, batch, usable
from tokverify.fuzz.sample import Sample, vocabulary_of
from tokverify.report.fuzz import DifferenceKind
from tokverify.report.run import Status
from tokverify.verify.comparison import verify_tokenizers

if TYPE_CHECKING:
    from tokverify.cases.case import Case
    from tokverify.convert.explainer import Explainer
    from tokverify.fuzz.trial import Trial, TrialOutcome
    from tokverify.report.run import CaseResult, Report, Side

_SHOWN = 60
"""So many failing texts are shrunk to minimal ones and sorted by cause, those that nothing explains first."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What came of it.

    `report` holds the cases, then a minimal text for each cause that `strings` made-up texts showed. Of cases and
    strings together `differing` differ. `explained` says, of each loss, how many of these it explains by itself;
    `unexplained` how many all losses together leave.
    """

    report: Report
    strings: int
    differing: int
    explained: tuple[int, ...]
    unexplained: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to compare: cases, and `count` made-up texts, the same ones for the same `seed`."""

    cases: Sequence[Case]
    count: int
    seed: int = 0
    on_progress: Callable[[int, int], None] | None = None

    def tell(self, done: int) -> None:
        """Tell how far it is."""
        if self.on_progress:
            self.on_progress(done, len(self.cases) + self.count)


def verify_conversion(trial: Trial, sides: tuple[Side, Side], plan: Plan, explainer: Explainer) -> Verification:
    """Compare what was made, the actual side of the trial, with what it was made from."""
    report = verify_tokenizers(
        trial.actual, trial.expected, plan.cases, sides=sides, on_progress=lambda done, _: plan.tell(done)
    )
    made_up = list(_try_strings(trial, plan))
    differing = [outcome for outcome in map(trial.outcome, _failing_samples(report)) if outcome] + made_up
    left = explainer.left(differing)
    causes = _causes(trial, _shown(made_up, left), explainer)
    return Verification(
        replace(report, results=(*report.results, *causes)),
        strings=plan.count,
        differing=len(differing),
        explained=tuple(
            len(differing) - len(explainer.left_by(index, differing)) for index in range(len(explainer.losses))
        ),
        unexplained=len(left),
    )


def _try_strings(trial: Trial, plan: Plan) -> Iterator[TrialOutcome]:
    """Try made-up texts, and yield what differs."""
    vocabulary = vocabulary_of(trial.actual)
    names = usable(tuple(GENERATORS), vocabulary)
    done = 0
    for number in numbers():
        samples = batch(names, vocabulary, plan.seed, number)[: plan.count - done]
        if not samples:
            return
        yield from (outcome for outcome in trial.run(samples) if outcome and outcome.kind is not DifferenceKind.SKIPPED)
        done += len(samples)
        plan.tell(len(plan.cases) + done)


def _failing_samples(report: Report) -> Iterator[Sample]:
    for result in report.results:
        if result.status in {Status.MISMATCH, Status.ERROR}:
            yield Sample(result.case.text, result.add_special, result.parse_special)


def _shown(made_up: Sequence[TrialOutcome], left: Sequence[TrialOutcome]) -> list[TrialOutcome]:
    # An outcome holds lists, and so cannot be hashed; these are the same objects.
    unexplained = {id(outcome) for outcome in left}
    return sorted(made_up, key=lambda outcome: id(outcome) not in unexplained)[:_SHOWN]


def _causes(trial: Trial, shown: Sequence[TrialOutcome], explainer: Explainer) -> Iterator[CaseResult]:
    causes = Causes(trial)
    for outcome in shown:
        causes.add(outcome, "convert")
    for cause in causes.listed:
        reason = explainer.reason(cause.outcome)
        yield replace(cause.result, notes=(f"explained by: {reason}" if reason else "for no known reason",))
