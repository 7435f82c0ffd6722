"""Tally: what was found in a part of a corpus. Tallies add up, in any order and grouping, to the same result.

To stay small, a tally keeps the examples with the smallest hashes, whatever the order in which they were found.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from tokverify.corpus.coverage import Coverage, add_coverage
from tokverify.corpus.witness import Witness, add_witnesses
from tokverify.report.fields import Count

EXAMPLES = 5
"""How many examples, and places of unreadable documents, are kept for each reason."""

_K = TypeVar("_K", bound=str)
_V = TypeVar("_V")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where something is in a corpus."""

    path: str
    row: int
    """As in `Document`; -1 for a whole file or the rest of it."""
    format: str


@dataclass(frozen=True, slots=True)
class Example:
    """A document on which the two sides differ."""

    hash: str
    place: Place
    text: str | None
    """The text or, if it is long, a part of it that differs for the same reason.

    None if the document has no text, or no such part is short.
    """
    actual: tuple[int, ...] = ()
    """The ids of `text`; of the document, if it has no text. Empty on both sides if there are too many."""
    expected: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CauseTally:
    """The documents that differ for one reason."""

    documents: Count = 0
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True, slots=True)
class ReasonTally:
    """What could not be read for one reason."""

    count: Count = 0
    places: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupTally:
    """A group of documents, such as those of one file."""

    documents: Count = 0
    differing: Count = 0
    unreadable: Count = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What was found in a part of a corpus."""

    documents: Count = 0
    """Documents that were compared."""
    bytes: Count = 0
    """The length of their texts in UTF-8."""
    sampled_out: Count = 0
    """Documents that were left out at random."""
    actual_tokens: Count = 0
    expected_tokens: Count = 0
    differing: Count = 0
    """Documents on which the two sides differ."""
    unreadable: Count = 0
    """Documents, files and parts of files that could not be compared."""
    null: Count = 0
    """Those among them that are rows without a value."""
    causes: Mapping[str, CauseTally] = field(default_factory=dict)
    limits: Mapping[str, Count] = field(default_factory=dict)
    """The documents that differ only because of limits of llama.cpp, by the code of each that is needed."""
    reasons: Mapping[str, ReasonTally] = field(default_factory=dict)
    """Why something could not be compared."""
    sources: Mapping[str, GroupTally] = field(default_factory=dict)
    """The documents by path."""
    scripts: Mapping[str, GroupTally] = field(default_factory=dict)
    """The documents by script; what is unreadable has none."""
    coverage: Coverage | None = None
    """What occurs in the documents."""
    witnesses: tuple[Witness, ...] = ()
    """Excerpts that contain it; none unless a suite is to be distilled."""


_COUNTS = ("documents", "bytes", "sampled_out", "actual_tokens", "expected_tokens", "differing", "unreadable", "null")


def add(left: Tally, right: Tally) -> Tally:
    """Add two tallies of different documents; associative and commutative, and `Tally()` changes nothing."""
    return Tally(
        **{name: getattr(left, name) + getattr(right, name) for name in _COUNTS},
        causes=_add_values(left.causes, right.causes, _add_causes),
        limits=_add_values(left.limits, right.limits, operator.add),
        reasons=_add_values(left.reasons, right.reasons, _add_reasons),
        sources=_add_values(left.sources, right.sources, _add_groups),
        scripts=_add_values(left.scripts, right.scripts, _add_groups),
        coverage=_add_coverage(left.coverage, right.coverage),
        witnesses=add_witnesses(left.witnesses, right.witnesses),
    )


def _add_values(left: Mapping[_K, _V], right: Mapping[_K, _V], add_two: Callable[[_V, _V], _V]) -> dict[_K, _V]:
    total = {**left, **right}
    for key in left.keys() & right.keys():
        total[key] = add_two(left[key], right[key])
    return dict(sorted(total.items()))


def _add_causes(left: CauseTally, right: CauseTally) -> CauseTally:
    return CauseTally(left.documents + right.documents, keep_examples((*left.examples, *right.examples)))


def _add_reasons(left: ReasonTally, right: ReasonTally) -> ReasonTally:
    return ReasonTally(left.count + right.count, tuple(sorted((*left.places, *right.places))[:EXAMPLES]))


def _add_groups(left: GroupTally, right: GroupTally) -> GroupTally:
    return GroupTally(
        left.documents + right.documents, left.differing + right.differing, left.unreadable + right.unreadable
    )


def _add_coverage(left: Coverage | None, right: Coverage | None) -> Coverage | None:
    return add_coverage(left, right) if left and right else left or right


def keep_examples(examples: Iterable[Example]) -> tuple[Example, ...]:
    """Keep the examples with the smallest hashes, and one of those with the same text."""
    kept: dict[str, Example] = {}
    for example in sorted(examples, key=lambda example: (example.hash, example.place)):
        kept.setdefault(example.hash, example)
    return tuple(kept.values())[:EXAMPLES]


@dataclass(frozen=True, slots=True)
class UnitResult:
    """The result of one unit, as stored."""

    plan: str
    """The id of the plan."""
    unit: str
    """The id of the unit."""
    tally: Tally
    seconds: float
    """How long a worker was busy with it; not a part of what is compared."""


def merge(results: Iterable[UnitResult]) -> Tally:
    """Add up the results of units; one that is given twice counts once."""
    total = Tally()
    for result in {result.unit: result for result in results}.values():
        total = add(total, result.tally)
    return total
