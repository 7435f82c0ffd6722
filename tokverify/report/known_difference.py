"""Known differences: what a baseline accepts, and which of its entries accepted nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from tokverify.report.fields import Digest

IdRange = tuple[int, int]
"""The first and the last id of a range."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDifference:
    """Accepts one cause, or one way in which a case fails. A condition that is None or empty is always met."""

    case: str = ""
    """The case that fails, as suite/id; empty for a cause."""
    code: str = ""
    """The cause: the code of a rule, of a limit or of what `chat` finds, or the aspect in which the tokenizers differ.

    It is empty for a case.
    """
    difference: Digest = ""
    """The digest of the failure or difference (`compare.digest`)."""
    reason: str
    """Why it is accepted."""
    expires: date | None = None
    """The last day on which it is accepted; None if there is no end."""
    model: str | None = None
    """A shell-style pattern for the model's name."""
    fingerprint: str | None = None
    """A fingerprint of the model's tokenizer, or its beginning."""
    ids: tuple[IdRange, ...] | None = None
    """Ranges that must contain all ids of a difference."""
    message: str | None = None
    """A shell-style pattern for the whole message of a difference."""
    about: str = ""
    """The difference, or the cause of the failure, in words."""
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
    """The entries whose cases were not compared."""


def subject_of(entry: KnownDifference) -> str:
    """Return what an entry is about: the name of its case, or the code of its cause."""
    return entry.case or entry.code
