"""The outcome of recording the ids of a reference in suites, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from tokverify.case import Case
from tokverify.report.side import Side


class RecordedChange(StrEnum):
    """What recording did to a case."""

    ADDED = "added"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    NOT_RECORDED = "not recorded"


@dataclass(frozen=True, slots=True)
class RecordedCase:
    """The outcome for one case."""

    case: Case
    """The case as it was before."""
    change: RecordedChange
    """What recording did to it."""
    ids: tuple[int, ...] = ()
    """The ids of the reference."""
    message: str = ""
    """Why there are no ids."""
    model_agrees: bool = True
    """Whether the model gives the same ids."""


@dataclass(frozen=True, slots=True)
class Recording:
    """What was recorded in which files."""

    actual: Side
    """The model."""
    expected: Side
    """The reference that the ids come from."""
    key: str
    """The name that the ids are recorded under."""
    names_model: bool
    """Whether a run on the model uses what is recorded under this name."""
    results: tuple[RecordedCase, ...]
    """One result per case."""
    written: tuple[str, ...] = ()
    """The files that were written."""
    untouched: tuple[str, ...] = ()
    """The files that were up to date."""


def count_recorded(recording: Recording, change: RecordedChange) -> int:
    """Count the cases with this outcome."""
    return sum(result.change is change for result in recording.results)


def recording_exit_code(recording: Recording) -> int:
    """Return 0 if every case was recorded, 1 if some were not, 2 if none was."""
    missing = count_recorded(recording, RecordedChange.NOT_RECORDED)
    if not missing:
        return 0
    return 2 if missing == len(recording.results) else 1


def summarize_recording(recording: Recording) -> Mapping[str, object]:
    """Return the `summary` of the JSON report."""
    counts = {str(change): count_recorded(recording, change) for change in RecordedChange}
    return {"exit_code": recording_exit_code(recording), **counts}
