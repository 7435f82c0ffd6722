"""Examples: shrink the documents that a tally keeps to the shortest texts that differ for the same reason."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from tokverify.case import Case
from tokverify.compare.fuzz.case_result import make_case_result
from tokverify.compare.fuzz.trial import Trial, TrialOutcome
from tokverify.compare.limits.explaining import Explainer
from tokverify.compare.limits.limit import Text
from tokverify.corpus.cause import Classifier
from tokverify.corpus.coverage import CoverageDescriber
from tokverify.errors import TokverifyError
from tokverify.report.corpus import CorpusCause
from tokverify.report.diagnosis import Diagnosis
from tokverify.report.fuzz import DifferenceKind
from tokverify.report.run import CaseResult, Side, Status
from tokverify.texts.alignment import compare
from tokverify.texts.mode import Mode
from tokverify.texts.sample import Sample
from tokverify.texts.shrink import shrink
from tokverify.tokenizer import Tokenizer, tokens_for_display

if TYPE_CHECKING:
    from tokverify.corpus.result import Example, Place

_MAX_CALLS = 600
_SUITE = "corpus"
_TOO_LONG = "the document is too long to show here, and none of its parts differs for the same reason"


Explain = Callable[[Sequence["CaseResult"]], "Diagnosis | None"]
"""Searches for the cause of the differences in some examples."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What was compared with what, and how the examples are examined."""

    actual: Tokenizer
    expected: Tokenizer
    sides: tuple[Side, Side]
    """How the report describes the two."""
    mode: Mode
    """The options with which documents were encoded."""
    judge: Tokenizer | None = None
    """A third tokenizer that encodes the examples too."""
    explain: Explain = lambda _: None
    limits: Explainer = field(default_factory=Explainer)
    """Explains differences by limits of llama.cpp."""
    reads_ids: bool = False
    """Whether the actual ids come from the corpus itself; `expected` is then the tokenizer, on both sides."""
    notes: tuple[str, ...] = ()
    options: Mapping[str, object] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def coverage(self) -> CoverageDescriber:
        """Describes what occurred in the documents."""
        return CoverageDescriber(self.actual)

    @cached_property
    def trial(self) -> Trial:
        """Encodes texts with both sides."""
        return Trial(self.actual, self.expected)

    @cached_property
    def classifier(self) -> Classifier:
        """Names the causes of differences."""
        return Classifier(self.actual, self.expected)


@dataclass(frozen=True, slots=True)
class FoundExample:
    """A document that differs, as a result that can be shown."""

    result: CaseResult
    place: Place
    causes: frozenset[CorpusCause]
    shrunk: bool
    judgment: str = ""


def make_example(example: Example, cause: CorpusCause, comparison: Comparison) -> FoundExample:
    """Shrink an example while it shows a cause, if both sides can encode its text."""
    outcome = None if comparison.reads_ids or example.text is None else _shrink(example.text, cause, comparison)
    if outcome is None:
        result = _show_ids(example, cause, comparison)
        return FoundExample(result, example.place, frozenset([cause]), shrunk=False)
    result = make_case_result(outcome, comparison.trial, suite=_SUITE, tags=(_SUITE, str(cause)))
    judgment = judge_outcome(comparison.judge, outcome) if comparison.judge else ""
    return FoundExample(result, example.place, frozenset([cause]), outcome.sample.text != example.text, judgment)


def _shrink(text: str, cause: CorpusCause, comparison: Comparison) -> TrialOutcome | None:
    """Return the outcome of the shortest text found that shows a cause; None if this text does not show it."""

    def shows(sample: Sample) -> bool:
        return cause in _causes_of(comparison.trial.outcome(sample), comparison)

    whole = Sample(text, *comparison.mode)
    return comparison.trial.outcome(shrink(whole, shows, max_calls=_MAX_CALLS)) if shows(whole) else None


def _causes_of(outcome: TrialOutcome | None, comparison: Comparison) -> Collection[CorpusCause]:
    if outcome is None:
        return ()
    if outcome.kind is DifferenceKind.ERROR:
        return (CorpusCause.ERROR,)
    if comparison.limits.find(Text(*outcome.sample, tuple(outcome.expected))):
        return (CorpusCause.LIMIT,)
    return comparison.classifier.classify(outcome.actual, outcome.expected)


def _show_ids(example: Example, cause: CorpusCause, comparison: Comparison) -> CaseResult:
    """Return the result of a document as it is, with the ids that were found."""
    case = Case(id=f"document-{example.hash[:8]}", suite=_SUITE, text=example.text or "", tags=(_SUITE, str(cause)))
    difference = None
    if example.actual != example.expected:
        sides = ((comparison.actual, example.actual), (comparison.expected, example.expected))
        difference = compare(*(tokens_for_display(tokenizer, ids) for tokenizer, ids in sides))
    return CaseResult(
        case,
        Status.MISMATCH,
        actual=example.actual,
        expected=example.expected,
        difference=difference,
        message=None if difference else _TOO_LONG,
        **comparison.mode._asdict(),
    )


def judge_outcome(judge: Tokenizer, outcome: TrialOutcome) -> str:
    """Say with which side a third tokenizer agrees about a text."""
    text, add_special, parse_special = outcome.sample
    try:
        ids = judge.encode(text, add_special=add_special, parse_special=parse_special)
    except TokverifyError as error:
        return f"{judge.name} cannot encode it: {error}"
    agreeing = [
        side for side, others in (("actual", outcome.actual), ("expected", outcome.expected)) if list(others) == ids
    ]
    return f"{judge.name} agrees with {agreeing[0]}" if agreeing else f"{judge.name} agrees with neither side"
