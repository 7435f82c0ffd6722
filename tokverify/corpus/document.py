"""What a corpus consists of: files of some format, the units of work they are divided into, and their documents."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from tokverify.report.fields import Count

if TYPE_CHECKING:
    from array import array

TO_END = -1
"""The `end` of a unit that reaches to the end of its file, wherever that is."""


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """A file of a corpus."""

    path: str
    """A path, or the URL of a file that fsspec opens."""
    format: str
    """A key of `SOURCES`."""
    size: int | None
    """In bytes, compressed if the file is; None if a server does not tell."""
    version: str
    """When the file was changed last, or its ETag: a changed file makes another plan."""


@dataclass(frozen=True)
class WorkUnit:
    """A part of a file; the unit of `start` and `end` depends on the format."""

    file: CorpusFile
    start: int = 0
    """The first row group (Parquet) or byte (plain JSON Lines and text); 0 for the other formats."""
    end: int = TO_END
    """The end of the range, exclusive."""
    size: Count = 0
    """About how many bytes of the file belong to it, for estimates of progress."""

    @cached_property
    def id(self) -> str:
        """A name that depends on everything that determines the documents of the unit."""
        file = [self.file.path, self.file.format, self.file.size, self.file.version]
        content = msgspec.json.encode([file, self.start, self.end])
        return hashlib.sha256(content).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class UnitPart:
    """Some of the documents of a unit, counted in reading order, unreadable ones included."""

    unit: WorkUnit
    first: int = 0
    last: int | None = None
    """Exclusive; None for all that follow."""


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


class Column(NamedTuple):
    """A column of a file, or a field inside one."""

    path: str
    """Its name; for a field, those of the columns around it too, with dots between."""
    type: str
    """The type, as its format calls it."""
    has_text: bool
    has_ids: bool
    in_lists: bool
    """Whether the field is a list, or inside one, so that a row can contain several texts."""


def ids_with_list(path: str | None) -> str:
    """Say why documents cannot be read from a field that is a list of texts together with ids."""
    return f"{path!r} is a list of texts, and ids belong to one text"


@dataclass(frozen=True, slots=True)
class Source:
    """A file format."""

    suffixes: tuple[str, ...]
    """How the names of its files end, without the suffix of a compression."""
    place: str
    """What the `row` of a document counts: `row`, `byte` or `document`."""
    units: Callable[[CorpusFile, int], Iterable[WorkUnit]]
    """Divide a file into units of about a number of bytes.

    Raises UnreadableFileError if the file must be opened for that and cannot be read.
    """
    read: Callable[[WorkUnit, Columns], Reading]
    """Read the documents of a unit in order, with bounded memory.

    Raises UnreadableFileError if the unit cannot be read any further.
    """
    columns: Callable[[str], Sequence[Column]] | None = None
    """List the columns of a file, given its path; None if the whole file is text or ids."""
    has_ids: bool = False
    """Whether the documents are ids, without any column."""
    index_path: Callable[[str], str] | None = None
    """Return the path of the file beside a file without which its documents are not known; None if it needs none."""
