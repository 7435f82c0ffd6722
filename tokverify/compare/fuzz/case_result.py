"""Turn the outcome of a sample into the result of a case, as a report shows it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from tokverify.case import Case
from tokverify.compare.fuzz.trial import Trial, TrialOutcome
from tokverify.report.fuzz import DifferenceKind, FoundText
from tokverify.report.run import CaseResult, Status
from tokverify.text.visible import visible
from tokverify.texts.alignment import compare
from tokverify.texts.sample import Sample
from tokverify.tokenizer import tokens_for_display

_SHOWN_IDS = 8
_STATUS = {
    DifferenceKind.IDS: Status.MISMATCH,
    DifferenceKind.DECODING: Status.MISMATCH,
    DifferenceKind.ERROR: Status.ERROR,
    DifferenceKind.SKIPPED: Status.SKIPPED,
}


def make_case_result(outcome: TrialOutcome, trial: Trial, *, suite: str, tags: tuple[str, ...]) -> CaseResult:
    """Return an outcome as the result of a case, which is named after its text."""
    text, add_special, parse_special = outcome.sample
    case = Case(
        id=case_id(outcome.kind, outcome.sample),
        suite=suite,
        text=text,
        tags=tags,
        note=_note(outcome, trial),
        add_special=add_special,
        parse_special=parse_special,
    )
    difference = None
    if outcome.kind is DifferenceKind.IDS:
        difference = compare(
            tokens_for_display(trial.actual, outcome.actual), tokens_for_display(trial.expected, outcome.expected)
        )
    return CaseResult(
        case,
        _STATUS[outcome.kind],
        actual=tuple(outcome.actual) if difference else (),
        expected=tuple(outcome.expected) if difference else (),
        difference=difference,
        message=outcome.message or _describe_decoding(outcome),
        add_special=add_special,
        parse_special=parse_special,
    )


def _describe_decoding(outcome: TrialOutcome) -> str | None:
    """Describe how the two sides decode the same ids; None for other kinds."""
    if outcome.kind is not DifferenceKind.DECODING:
        return None
    actual, expected = (visible(bytes(side)) or "nothing" for side in (outcome.actual, outcome.expected))
    return f"the same ids decode to {actual} (actual) and {expected} (expected)"


def case_id(kind: DifferenceKind, sample: Sample | FoundText) -> str:
    """Return the id of the case for a minimal sample, which depends on nothing else."""
    key = (sample.text, sample.add_special, sample.parse_special)
    return f"{kind}-{hashlib.sha256(repr(key).encode()).hexdigest()[:8]}"


def _note(outcome: TrialOutcome, trial: Trial) -> str:
    if outcome.message:
        return outcome.message
    if outcome.kind is DifferenceKind.DECODING:
        actual, expected = bytes(outcome.actual), bytes(outcome.expected)
        return f"decoded to {actual!r} by {trial.actual.name}, to {expected!r} by {trial.expected.name}"
    actual_ids, expected_ids = _format_ids(outcome.actual), _format_ids(outcome.expected)
    return f"{actual_ids} from {trial.actual.name}, {expected_ids} from {trial.expected.name}"


def _format_ids(ids: Sequence[int]) -> str:
    return f"{list(ids)}" if len(ids) <= _SHOWN_IDS else f"{list(ids[:_SHOWN_IDS])} and {len(ids) - _SHOWN_IDS} more"
