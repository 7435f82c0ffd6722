"""The directory of a run: its plan, a file for each unit that is finished, sums of these, and how far it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from tokverify.corpus.document import CorpusFile, Unreadable, WorkUnit
from tokverify.corpus.plan import Plan, describe_changes
from tokverify.corpus.result import StoredSum, Tally, TallySum, UnitResult, add
from tokverify.corpus.source import SOURCES
from tokverify.corpus.work import Recorder
from tokverify.errors import TokverifyError
from tokverify.location import FromFile, Location, Origin
from tokverify.report.corpus import CorpusProgress
from tokverify.report.fuzz import Share
from tokverify.system.input_file import read_bytes
from tokverify.system.output_file import SUFFIX, require_outside_git, write_file
from tokverify.text.wording import list_items, quote

_PLAN = "plan.json"
_RESULTS = "results"
_SUMS = "sums"
_VERSION = 1
_MAX_PLAN_BYTES = 1 << 30
_MAX_RESULT_BYTES = 1 << 28
_ADVICE = "delete it and run the command again"
_T = TypeVar("_T")


class _StoredPlan(msgspec.Struct):
    version: int
    plan: Plan


class StateDirectory:
    """A directory that several runs of one plan may share, at the same time too."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, plan: Plan) -> None:
        """Prepare the directory for a plan, or continue the same plan.

        Raises:
            TokverifyError: If it belongs to another plan, or cannot be written.
        """
        if self._own(_PLAN).exists():
            self._require_same(self.plan(), plan)
            return
        require_outside_git(self.path)
        # Another run that is just starting may have created the directory of the results already.
        names = {path.name for path in self.path.iterdir()} if self.path.is_dir() else set()
        if any(name != _RESULTS and not name.endswith(SUFFIX) for name in names):
            raise TokverifyError(f"{self.path}: contains files, but no {_PLAN}; name a new directory with --state")
        try:
            self._own(_RESULTS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TokverifyError(f"{self.path}: cannot be created: {error.strerror or error}") from error
        write_file(self.path / _PLAN, msgspec.json.encode(_StoredPlan(_VERSION, plan), enc_hook=_to_text).decode())

    def _require_same(self, old: Plan, new: Plan) -> None:
        if old.id != new.id:
            raise TokverifyError(
                f"{self.path}: contains the results of another plan: {describe_changes(old, new)}; name another"
                " directory with --state, or delete this one"
            )

    def plan(self) -> Plan:
        """Return the plan, whose locations are those of a file: the directory may come from somebody else.

        Raises:
            TokverifyError: If there is none, or it was written by an incompatible version.
        """
        path = self._own(_PLAN)
        if not path.exists():
            raise TokverifyError(f"{self.path}: contains no {_PLAN}; name a directory that was given as --state")
        try:
            content = read_bytes(path, "plan", _MAX_PLAN_BYTES)
            stored = msgspec.json.decode(content, type=_StoredPlan, dec_hook=partial(_to_location, Origin(path)))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise TokverifyError(f"{path}: not a plan of this version of tokverify ({error})") from error
        if stored.version != _VERSION:
            raise TokverifyError(f"{path}: written by another version of tokverify; name another directory")
        formats = {unit.file.format for unit in stored.plan.units}
        if unknown := sorted(formats - SOURCES.keys()):
            raise TokverifyError(f"{path}: this version of tokverify reads no {list_items([*map(quote, unknown)])}")
        return stored.plan

    def store(self, result: UnitResult, file: CorpusFile) -> UnitResult:
        """Store the result of a unit of a file, and return it; if that is impossible, with a record of what went wrong.

        A disk that is full does not end a run: what was found is reported, and the next run repeats the unit.
        """
        try:
            write_file(self._path_of(result.unit), msgspec.json.encode(result).decode())
        except TokverifyError as error:
            recorder = Recorder(file)
            recorder.add_unreadable(Unreadable(None, f"compared, but the result cannot be stored: {_reason(error)}"))
            return replace(result, tally=add(result.tally, recorder.tally()))
        return result

    def remove(self, unit: str) -> None:
        """Delete the result of a unit in which something could not be read, so that the next run computes it again."""
        self._path_of(unit).unlink(missing_ok=True)

    def results(self, plan: str, units: Iterable[WorkUnit]) -> Iterator[UnitResult]:
        """Yield the stored results of some units of a plan, in their order.

        Raises:
            TokverifyError: If one is broken, or belongs to another plan.
        """
        stored = {path.stem for path in self._own(_RESULTS).glob("*.json")}
        for unit in units:
            if unit.id in stored:
                path = self._path_of(unit.id)
                result = _read(path, UnitResult, "result of a unit", _MAX_RESULT_BYTES)
                if (result.plan, result.unit) != (plan, unit.id):
                    raise TokverifyError(f"{path}: the result of another unit or plan; {_ADVICE}")
                yield result

    def store_sum(self, total: StoredSum, name: str) -> None:
        """Store the sum of some results; runs of different parts give it different names.

        Nothing is lost if that is impossible: the next run reads the results.
        """
        with suppress(TokverifyError, OSError):
            self._own(_SUMS).mkdir(exist_ok=True)
            write_file(self._own(_SUMS, f"{name}.json"), msgspec.json.encode(total).decode())

    def sums(self, plan: str) -> list[StoredSum]:
        """Return the stored sums of a plan, those of many units first; a unit may be in several.

        Raises:
            TokverifyError: If one is broken, or belongs to another plan.
        """
        paths = [self._own(_SUMS, path.name) for path in self._own(_SUMS).glob("*.json")]
        found = {path: _read(path, StoredSum, "sum of results", _MAX_PLAN_BYTES) for path in paths}
        for path, total in found.items():
            if total.plan != plan:
                raise TokverifyError(f"{path}: the results of another plan; {_ADVICE}")
        return sorted(found.values(), key=lambda total: len(total.units), reverse=True)

    def _path_of(self, unit: str) -> Path:
        return self._own(_RESULTS, f"{unit}.json")

    def _own(self, *names: str) -> Path:
        """Return the path of a file or directory of this one.

        Raises:
            TokverifyError: If it is a link, through which something else would be read, written or deleted.
        """
        path = self.path
        for name in names:
            path /= name
            if path.is_symlink():
                raise TokverifyError(f"{path}: is a link; a state directory contains only files of its own")
        return path


def _to_text(location: object) -> str:
    if isinstance(location, Location):
        return location.text
    raise NotImplementedError


def _to_location(origin: Origin, kind: type, text: object) -> Location:
    if kind is Location and isinstance(text, str):
        return FromFile(text, origin)
    raise TypeError(f"expected a string, not {text!r}")


def _reason(error: TokverifyError) -> str:
    """Return why a file cannot be written, without its path, which would make every failure another reason."""
    cause = error.__cause__
    return (cause.strerror if isinstance(cause, OSError) else None) or str(error)


def _read(path: Path, kind: type[_T], content: str, max_bytes: int) -> _T:
    try:
        return msgspec.json.decode(read_bytes(path, content, max_bytes), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TokverifyError(f"{path}: not the {content} ({error}); {_ADVICE}") from error


_FEWEST_NEW = 1024
"""How many results to read one by one rather than to store their sum."""


class ProgressCounter:
    """Counts the results of the units that are expected, each once."""

    def __init__(self, units: Sequence[WorkUnit]) -> None:
        self._left = {unit.id: unit for unit in units}
        self._name = min(self._left, default="")
        """Tells the parts of a plan apart, none of which have a unit in common."""
        self._units = len(self._left)
        self._bytes = self._bytes_left = sum(unit.size for unit in self._left.values())
        self._seconds = 0.0
        self._complete = TallySum()
        """The sum of the units in which everything could be read, except for rows that are null."""
        self._complete_units: list[str] = []
        self._complete_seconds = 0.0
        self._stored = 0
        """How many of them are in the sum that was stored last."""
        self._incomplete = TallySum()
        """The sum of the others, which may be repeated."""

    def take(self, result: UnitResult) -> None:
        """Add a result, unless it has been added before."""
        if result.unit not in self._left:
            return
        self._remove(result.unit)
        self._seconds += result.seconds
        if result.tally.unreadable > result.tally.null:  # a row that is null stays so
            self._incomplete.add(result.tally)
        else:
            self._complete.add(result.tally)
            self._complete_units.append(result.unit)
            self._complete_seconds += result.seconds

    def take_stored(self, state: StateDirectory, plan: Plan) -> None:
        """Add everything that a directory contains; the results of units in a stored sum are not read.

        Raises:
            TokverifyError: If a file in it is broken, or belongs to another plan.
        """
        for stored in state.sums(plan.id):
            if stored.units <= self._left.keys():  # a sum can be used only as a whole
                self._take_sum(stored)
        for result in state.results(plan.id, self.missing):
            self.take(result)

    def _take_sum(self, stored: StoredSum) -> None:
        for unit in stored.units:
            self._remove(unit)
        self._seconds += stored.seconds
        self._complete.add(stored.tally)
        self._complete_units += stored.units
        self._complete_seconds += stored.seconds
        self._stored = len(self._complete_units)

    def _remove(self, unit: str) -> None:
        self._bytes_left -= self._left.pop(unit).size

    def store(self, state: StateDirectory, plan: Plan) -> None:
        """Store the sum if it has grown enough: writing it takes time for all that it contains."""
        units = self._complete_units
        if len(units) - self._stored >= max(_FEWEST_NEW, self._stored // 8):
            total = StoredSum(plan.id, frozenset(units), self._complete.tally(), self._complete_seconds)
            state.store_sum(total, self._name)
            self._stored = len(units)

    @property
    def missing(self) -> list[WorkUnit]:
        """The units without a result."""
        return list(self._left.values())

    @property
    def tally(self) -> Tally:
        """The sum of the results."""
        return add(self._complete.tally(), self._incomplete.tally())

    @property
    def remaining_bytes(self) -> int:
        """The size of the units without a result; at least 1 if there are any."""
        return max(self._bytes_left, len(self._left))

    @property
    def progress(self) -> CorpusProgress:
        """The current state."""
        counts = self._complete.counts + self._incomplete.counts
        causes: Counter[str] = Counter()
        for part in (self._complete, self._incomplete):
            causes.update({cause: found.documents for cause, found in part.tables["causes"].items()})
        return CorpusProgress(
            units=Share(self._units - len(self._left), self._units),
            file_bytes=Share(self._bytes - self._bytes_left, self._bytes),
            documents=counts["documents"],
            bytes=counts["bytes"],
            differing=counts["differing"],
            unreadable=counts["unreadable"],
            causes=dict(sorted(causes.items())),
            busy_seconds=self._seconds,
        )
