"""Tally: what was found in a part of a corpus. Tallies add up, in any order and grouping, to the same result.

To stay small, a tally keeps the examples with the smallest hashes, whatever the order in which they were found.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tokverify.corpus.coverage import Coverage, add_coverage
from tokverify.corpus.witness import FirstPlaces, Witness, add_witnesses, group_witnesses
from tokverify.report.fields import Count

EXAMPLES = 5
"""How many examples, and places of unreadable documents, are kept for each reason."""


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


class TallySum:
    """Adds up tallies of different documents, in any order; each takes time for what it contains only.

    The sum itself is a table of all files, which must not be copied for each of them.
    """

    def __init__(self, *tallies: Tally) -> None:
        self.counts: Counter[str] = Counter()
        """The counts of a tally by their names."""
        self.tables: dict[str, dict[str, Any]] = {name: {} for name in _TABLES}
        """The tables of a tally by their names."""
        self._coverage: Coverage | None = None
        self._witnesses: FirstPlaces = {}
        for tally in tallies:
            self.add(tally)

    def add(self, tally: Tally) -> None:
        """Add a tally."""
        for name in _COUNTS:
            self.counts[name] += getattr(tally, name)
        for name, add_two in _TABLES.items():
            total = self.tables[name]
            for key, value in getattr(tally, name).items():
                total[key] = add_two(total[key], value) if key in total else value
        if self._coverage and tally.coverage:
            self._coverage = add_coverage(self._coverage, tally.coverage)
        else:
            self._coverage = self._coverage or tally.coverage
        add_witnesses(self._witnesses, tally.witnesses)

    def tally(self) -> Tally:
        """Return the sum."""
        tables: dict[str, Any] = {name: dict(sorted(table.items())) for name, table in self.tables.items()}
        counts: dict[str, Any] = dict(self.counts)
        return Tally(
            **counts,
            **tables,
            coverage=self._coverage,
            witnesses=group_witnesses(self._witnesses),
        )


def add(*tallies: Tally) -> Tally:
    """Add tallies of different documents; associative and commutative, and `Tally()` changes nothing."""
    return TallySum(*tallies).tally()


def _add_causes(left: CauseTally, right: CauseTally) -> CauseTally:
    return CauseTally(left.documents + right.documents, _keep_examples((*left.examples, *right.examples)))


def _add_reasons(left: ReasonTally, right: ReasonTally) -> ReasonTally:
    return ReasonTally(left.count + right.count, tuple(sorted((*left.places, *right.places))[:EXAMPLES]))


def _add_groups(left: GroupTally, right: GroupTally) -> GroupTally:
    return GroupTally(
        left.documents + right.documents, left.differing + right.differing, left.unreadable + right.unreadable
    )


_TABLES: Mapping[str, Callable[[Any, Any], Any]] = {
    "causes": _add_causes,
    "limits": operator.add,
    "reasons": _add_reasons,
    "sources": _add_groups,
    "scripts": _add_groups,
}
"""The tables of a tally, and how to add what two of them say about the same."""


def _keep_examples(examples: Iterable[Example]) -> tuple[Example, ...]:
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


@dataclass(frozen=True, slots=True)
class StoredSum:
    """The sum of the results of some units, as stored, so that a run that continues does not read each of them."""

    plan: str
    units: frozenset[str]
    """The ids of the units, in all of which everything could be read."""
    tally: Tally
    seconds: float
    """How long workers were busy with them."""
