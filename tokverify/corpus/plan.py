"""Plan: everything that determines the result of a run. Results of different plans must not be mixed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from tokverify.corpus.document import Columns, CorpusFile, WorkUnit
from tokverify.corpus.files import UnreadableFileError
from tokverify.corpus.source import SOURCES
from tokverify.location import Location
from tokverify.text.wording import list_items, plural, quote

_SMALLEST_UNIT, _LARGEST_UNIT = 1 << 23, 1 << 27
_MANY_UNITS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is compared with what."""

    model: Location
    """Where the model is."""
    reference: Location | None = None
    """The location of the reference; None to look for one."""
    data: tuple[str, ...] = ()
    """The locations of the corpus."""
    columns: Columns = field(default_factory=Columns)
    reads_ids: bool = False
    """Whether the ids in the corpus are compared with those of the model, and there is no reference."""
    keeps_excerpts: bool = False
    """Whether to keep excerpts of the documents, from which a suite can be distilled."""
    add_special: bool = True
    parse_special: bool = True
    rate: float = 1.0
    """The share of the documents to compare, from 0 to 1."""


@dataclass(frozen=True)
class Plan:
    """The units of a run, and the options that their results depend on."""

    request: Request
    options: Mapping[str, str]
    """The model, the reference, the versions of libraries and the options, each by its name."""
    units: tuple[WorkUnit, ...]
    notes: tuple[str, ...] = ()
    """What was chosen that the user should know."""

    @cached_property
    def id(self) -> str:
        """A name that depends on everything in the plan."""
        content = msgspec.json.encode([sorted(self.options.items()), [unit.id for unit in self.units]])
        return hashlib.sha256(content).hexdigest()[:24]


def choose_unit_bytes(files: Sequence[CorpusFile]) -> int:
    """Return the size of units: 128 MiB, but less for a small corpus, so that all workers have something to do."""
    total = sum(file.size or 0 for file in files)
    return min(_LARGEST_UNIT, max(_SMALLEST_UNIT, total // _MANY_UNITS))


def divide(files: Sequence[CorpusFile], unit_bytes: int) -> Iterator[WorkUnit]:
    """Divide files into units of about a number of bytes."""
    for file in files:
        try:
            yield from SOURCES[file.format].units(file, unit_bytes)
        except UnreadableFileError:
            # Whoever processes the unit meets the same problem and records it.
            yield WorkUnit(file, size=file.size or 0)


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several parts of a plan."""

    number: int
    """From 1 to `total`."""
    total: int

    def select(self, units: Sequence[WorkUnit]) -> Sequence[WorkUnit]:
        """Return the units of this part."""
        return units[self.number - 1 :: self.total]


def describe_changes(old: Plan, new: Plan) -> str:
    """Say what differs in two plans, as a list in one line."""
    changes = [
        f"{name} is {quote(new.options.get(name, ''))} and was {quote(old.options.get(name, ''))}"
        for name in sorted({**old.options, **new.options})
        if new.options.get(name) != old.options.get(name)
    ]
    files = {unit.file for unit in old.units} ^ {unit.file for unit in new.units}
    if files:
        paths = sorted({file.path for file in files})
        changes.append(f"{plural(len(paths), 'file')} changed, appeared or disappeared ({list_items(paths)})")
    return "; ".join(changes) or "the corpus is divided differently"
