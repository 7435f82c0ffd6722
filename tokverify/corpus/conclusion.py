"""Turn what was counted in a corpus into a report, with a few examples that are shrunk and explained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tokverify.corpus.example import Comparison, FoundExample, make_example
from tokverify.corpus.source import SOURCES
from tokverify.report.corpus import (
    CauseCount,
    CorpusCause,
    CorpusExample,
    CorpusReport,
    GroupCount,
    UnreadableGroup,
)
from tokverify.report.run import NEARLY_ALL, CaseResult, Report
from tokverify.texts.vocabulary import compare_vocabularies
from tokverify.tokenizer import pairs_for_display
from tokverify.version import __version__

if TYPE_CHECKING:
    from tokverify.corpus.result import Example, GroupTally, Place, Tally


def conclude(tally: Tally, comparison: Comparison) -> CorpusReport:
    """Return the report of what was counted.

    It depends only on the tally and the two tokenizers, and not on the order or the place of the work.
    """
    found = _merge_same(_make_examples(tally, comparison))
    results = tuple(example.result for example in found)
    is_of_other = comparison.reads_ids and has_ids_of_other_tokenizer(tally)
    report = Report(
        *comparison.sides,
        vocabulary=None if comparison.reads_ids else compare_vocabularies(comparison.actual, comparison.expected),
        results=results,
        limits=comparison.limits.describe_counts(tally.limits),
        options=comparison.options,
        versions={"tokverify": __version__, **comparison.versions},
        tokens=pairs_for_display(comparison.actual, comparison.expected, _undisputed_ids(results)),
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
        causes=tuple(_count_cause(cause, tally, found) for cause in _causes(tally)),
        examples=tuple(_describe_example(example) for example in found),
        sources=tuple(_count_group(name, group) for name, group in sorted(tally.sources.items())),
        scripts=tuple(_count_group(name, group) for name, group in sorted(tally.scripts.items(), key=_most_first)),
        unreadable_groups=tuple(
            UnreadableGroup(reason=reason, count=found.count, places=tuple(map(describe_place, found.places)))
            for reason, found in sorted(tally.reasons.items())
        ),
        coverage=comparison.coverage.describe(tally.coverage) if tally.coverage else None,
        notes=(*comparison.notes, NOTE) if is_of_other else comparison.notes,
    )


def _make_examples(tally: Tally, comparison: Comparison) -> Iterator[FoundExample]:
    for cause in _causes(tally):
        yield from (make_example(example, cause, comparison) for example in tally.causes[cause].examples)


def _causes(tally: Tally) -> list[CorpusCause]:
    return [cause for cause in CorpusCause if cause in tally.causes]


def _merge_same(examples: Iterable[FoundExample]) -> list[FoundExample]:
    """Merge examples of several causes, or of several documents, that were shrunk to the same text."""
    merged: dict[str, FoundExample] = {}
    for example in examples:
        known = merged.get(example.result.case.id)
        causes = example.causes if known is None else known.causes | example.causes
        merged[example.result.case.id] = replace(known or example, causes=causes)
    return list(merged.values())


def _undisputed_ids(results: Iterable[CaseResult]) -> Iterable[int]:
    return (id for result in results if result.difference is None for id in result.actual)


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


def _most_first(item: tuple[str, GroupTally]) -> tuple[int, str]:
    return -item[1].documents, item[0]


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
