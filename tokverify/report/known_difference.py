"""Known differences: what a baseline accepts, and which of its entries accepted nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDifference:
    """An entry of a baseline: a case that fails in one way only, or a difference between the tokenizers themselves."""

    case: str = ""
    """The case, as suite/id; empty for a difference between the tokenizers."""
    aspect: str = ""
    """The aspect in which the tokenizers differ; empty for a case."""
    difference: str
    """The digest of the failure or difference (`compare.digest`)."""
    reason: str
    """Why it is accepted."""
    expires: date | None = None
    """The last day on which it is accepted; None if there is no end."""
    model: str | None = None
    """A shell-style pattern for the model's name; None for any model."""
    about: str = ""
    """The failure or difference in words."""
    place: str = ""
    """The file and line of the entry."""


@dataclass(frozen=True, slots=True)
class BaselineOutcome:
    """The entries of a baseline that accepted nothing."""

    source: str
    """The baseline's file."""
    fixed: tuple[KnownDifference, ...] = ()
    """The entries whose cases match now, or whose differences are gone."""
    not_run: tuple[KnownDifference, ...] = ()
    """The entries whose cases or aspects were not compared."""


def subject_of(entry: KnownDifference) -> str:
    """Return what an entry is about: the name of its case, or its aspect."""
    return entry.case or entry.aspect


def describe_subject(entry: KnownDifference) -> str:
    """Say what an entry is about."""
    return entry.case or f"the {entry.aspect} of the tokenizers"
