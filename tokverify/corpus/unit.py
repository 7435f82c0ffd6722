"""WorkUnit: the part of one file that a worker processes at a time."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import msgspec

from tokverify.report.fields import Count

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
