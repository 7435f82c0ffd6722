"""Merge the causes that one change to the tokenizer explains: one fault can have dozens of minimal texts.

The changes come from a diagnosis. A failing text is explained by a change if the changed tokenizer agrees with the
reference on it; the first of several changes counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from tokverify.compare.fuzz.cause import Cause
from tokverify.compare.fuzz.trial import Trial
from tokverify.report.diagnosis import Diagnosis
from tokverify.report.fuzz import DifferenceKind
from tokverify.report.run import CaseResult
from tokverify.texts.sample import Sample
from tokverify.tokenizer import Tokenizer


class ExplainingChange(NamedTuple):
    """A change to the tokenizer under test that explains some failing texts."""

    sentence: str
    """What the change does."""
    tokenizer: Tokenizer
    """The changed tokenizer."""


class Explained(NamedTuple):
    """The result of a diagnosis."""

    diagnosis: Diagnosis | None
    changes: Sequence[ExplainingChange] = ()
    """The changes that it found, the best one first."""


Explain = Callable[[Sequence["CaseResult"]], Explained]
"""Diagnoses failing texts."""


class MergedCauses(NamedTuple):
    """Causes after the explained ones have been merged."""

    causes: tuple[Cause, ...]
    unlisted: int
    """How many of the texts without a listed cause are not explained either."""


def merge_explained(
    trial: Trial, causes: Sequence[Cause], unlisted: Sequence[Sample], changes: Sequence[ExplainingChange]
) -> MergedCauses:
    """Merge the causes that the same change explains, and count the unlisted texts that it explains."""
    left, merged = list(causes), dict[int, Cause]()
    samples = list(unlisted)
    for change in changes:
        changed = Trial(change.tokenizer, trial.expected, trial.decoding)
        explained = [cause for cause in left if _agrees(changed, cause)]
        if not explained:
            continue
        count = len(samples)
        samples = [sample for sample, outcome in zip(samples, changed.run(samples), strict=True) if outcome]
        merged[causes.index(explained[0])] = _merge(explained, change.sentence, count - len(samples))
        left = [cause for cause in left if cause not in explained]
    kept = {causes.index(cause): cause for cause in left} | merged
    return MergedCauses(tuple(kept[index] for index in sorted(kept)), len(samples))


def _agrees(changed: Trial, cause: Cause) -> bool:
    return cause.outcome.kind is not DifferenceKind.SKIPPED and changed.outcome(cause.outcome.sample) is None


def _merge(causes: Sequence[Cause], sentence: str, unlisted: int) -> Cause:
    """Return the first of these causes, with the texts of all."""
    first, others = causes[0], tuple(cause.outcome.sample for cause in causes[1:])
    strings = sum(cause.strings for cause in causes) + unlisted
    return replace(first, strings=strings, explanation=sentence, others=others)
