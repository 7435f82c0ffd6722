"""Document: what two tokenizers are compared on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from array import array


class Document(NamedTuple):
    """A text of a corpus."""

    row: int
    """Where it is in its file: the row of a table, or the byte at which a line begins; both count from 0."""
    text: str | None
    """None if the corpus contains only ids."""
    ids: array[int] | None = None
    """The ids that the corpus contains, as unsigned 32-bit integers."""


class Unreadable(NamedTuple):
    """A part of a corpus that could not be read."""

    row: int | None
    """Where it is, as in `Document`; None for the rest of the unit."""
    reason: str
    """One of few texts, so that equal problems can be counted."""
    documents: int = 1
    """How many documents it contains; 1 if that is not known."""
    is_null: bool = False
    """Whether the row is there but has no value, which a user may accept."""


Reading: TypeAlias = Iterator[Document | Unreadable]


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns to read, as paths into nested fields with dots."""

    text: str | None = None
    ids: str | None = None
