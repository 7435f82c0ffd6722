"""Turn what was counted in a corpus into a report, with a few examples that are shrunk and explained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from tokverify.case import Case
from tokverify.compare.fuzz.case_result import make_case_result
from tokverify.compare.fuzz.trial import Trial, TrialOutcome
from tokverify.compare.limits.explaining import Explainer
from tokverify.compare.limits.limit import Text
from tokverify.corpus.cause import Classifier
from tokverify.corpus.coverage import CoverageDescriber
from tokverify.corpus.result import Example, GroupTally, Place, Tally
from tokverify.corpus.source import SOURCES
from tokverify.errors import TokverifyError
from tokverify.report.corpus import (
    CauseCount,
    CorpusCause,
    CorpusExample,
    CorpusReport,
    GroupCount,
    UnreadableGroup,
)
from tokverify.report.diagnosis import Diagnosis
from tokverify.report.fuzz import DifferenceKind
from tokverify.report.run import CaseResult, Report, Status
from tokverify.report.side import Side
from tokverify.report.vocabulary_difference import NEARLY_ALL
from tokverify.texts.alignment import compare
from tokverify.texts.mode import Mode
from tokverify.texts.sample import Sample
from tokverify.texts.shrink import shrink
from tokverify.texts.vocabulary import compare_vocabularies
from tokverify.tokenizer import Tokenizer, pairs_for_display, tokens_for_display
from tokverify.version import __version__

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


def _make_example(example: Example, cause: CorpusCause, comparison: Comparison) -> FoundExample:
    """Shrink an example while it shows a cause, if both sides can encode its text."""
    outcome = None if comparison.reads_ids or example.text is None else _shrink(example.text, cause, comparison)
    if outcome is None:
        result = _show_ids(example, cause, comparison)
        return FoundExample(result, example.place, frozenset([cause]), shrunk=False)
    result = make_case_result(outcome, comparison.trial, suite=_SUITE, tags=(_SUITE, str(cause)))
    judgment = _judge_outcome(comparison.judge, outcome) if comparison.judge else ""
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


def _judge_outcome(judge: Tokenizer, outcome: TrialOutcome) -> str:
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


def conclude(tally: Tally, comparison: Comparison) -> CorpusReport:
    """Return the report of what was counted.

    It depends only on the tally and the two tokenizers, and not on the order or the place of the work.
    """
    causes = [cause for cause in CorpusCause if cause in tally.causes]
    found = _merge_same(
        _make_example(example, cause, comparison) for cause in causes for example in tally.causes[cause].examples
    )
    results = tuple(example.result for example in found)
    is_of_other = comparison.reads_ids and has_ids_of_other_tokenizer(tally)
    undisputed = (id for result in results if result.difference is None for id in result.actual)
    report = Report(
        *comparison.sides,
        vocabulary=None if comparison.reads_ids else compare_vocabularies(comparison.actual, comparison.expected),
        results=results,
        limits=comparison.limits.describe_counts(tally.limits),
        options=comparison.options,
        versions={"tokverify": __version__, **comparison.versions},
        tokens=pairs_for_display(comparison.actual, comparison.expected, undisputed),
    )
    return CorpusReport(
        report=replace(report, diagnosis=comparison.explain(results) if results else None),
        documents=tally.documents,
        bytes=tally.bytes,
        actual_tokens=tally.actual_tokens,
        expected_tokens=tally.expected_tokens,
        differing=tally.differing,
        unreadable=tally.unreadable,
        null=tally.null,
        sampled_out=tally.sampled_out,
        causes=tuple(_count_cause(cause, tally, found) for cause in causes),
        examples=tuple(_describe_example(example) for example in found),
        sources=tuple(_count_group(name, group) for name, group in sorted(tally.sources.items())),
        scripts=tuple(
            _count_group(name, group)
            for name, group in sorted(tally.scripts.items(), key=lambda item: (-item[1].documents, item[0]))
        ),
        unreadable_groups=tuple(
            UnreadableGroup(reason=reason, count=found.count, places=tuple(map(describe_place, found.places)))
            for reason, found in sorted(tally.reasons.items())
        ),
        coverage=comparison.coverage.describe(tally.coverage) if tally.coverage else None,
        notes=(*comparison.notes, NOTE) if is_of_other else comparison.notes,
    )


def _merge_same(examples: Iterable[FoundExample]) -> list[FoundExample]:
    """Merge examples of several causes, or of several documents, that were shrunk to the same text."""
    merged: dict[str, FoundExample] = {}
    for example in examples:
        known = merged.get(example.result.case.id)
        causes = example.causes if known is None else known.causes | example.causes
        merged[example.result.case.id] = replace(known or example, causes=causes)
    return list(merged.values())


def _count_cause(cause: CorpusCause, tally: Tally, examples: Sequence[FoundExample]) -> CauseCount:
    own = [example.result.case for example in examples if cause in example.causes]
    return CauseCount(
        cause=cause,
        documents=tally.causes[cause].documents,
        meaning=cause.meaning,
        cases=tuple(case.id for case in sorted(own, key=lambda case: (len(case.text), case.text))),
    )


def _describe_example(example: FoundExample) -> CorpusExample:
    return CorpusExample(
        case=example.result.case.id,
        place=describe_place(example.place),
        shrunk=example.shrunk,
        judgment=example.judgment,
    )


def _count_group(name: str, group: GroupTally) -> GroupCount:
    return GroupCount(name=name, documents=group.documents, differing=group.differing, unreadable=group.unreadable)


def describe_place(place: Place) -> str:
    """Write where something is, such as `data/a.parquet: row 17`."""
    return place.path if place.row < 0 else f"{place.path}: {SOURCES[place.format].place} {place.row:,}"


NOTE = (
    "nearly all documents have ids that the tokenizer would not return: they were probably made with another one; "
    "name its file as MODEL"
)
_CAUSES = (CorpusCause.NOT_CANONICAL, CorpusCause.OUTSIDE_VOCABULARY, CorpusCause.OTHER)
"""The causes that ids of another tokenizer show; a document has at most one of them."""
_MOST_SHARED = 0.9
"""If an example shares more ids with what the tokenizer returns, only places differ, such as where it was cut."""


def has_ids_of_other_tokenizer(tally: Tally) -> bool:
    """Whether nearly all documents have ids that the tokenizer would not return, in most examples many of them."""
    found = [tally.causes[cause] for cause in _CAUSES if cause in tally.causes]
    examples = [example for cause in found for example in cause.examples]
    unlike = sum(_share_ids(example) <= _MOST_SHARED for example in examples)
    return sum(cause.documents for cause in found) > NEARLY_ALL * tally.documents and 2 * unlike > len(examples)


def _share_ids(example: Example) -> float:
    """Return the share of the ids of an example that are on both sides."""
    shared = (Counter(example.actual) & Counter(example.expected)).total()
    return shared / max(len(example.actual), len(example.expected), 1)
