"""Source: what a file format must offer to be part of a corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tokverify.corpus.document import Columns, CorpusFile, Reading, WorkUnit


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
