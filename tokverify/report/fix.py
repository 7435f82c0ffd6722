"""The report of `tokverify fix`: what is wrong with a file, and what repairs it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tokverify.report.diagnosis import Diagnosis
from tokverify.report.fields import Count
from tokverify.report.run_check import check_diagnosis, check_gguf_command


@dataclass(frozen=True, slots=True)
class Verification:
    """The counts of a verification."""

    match: Count
    """How many cases match."""
    fail: Count
    """How many do not match or could not be encoded."""
    decoded_differently: Count = 0
    """How many decode differently, whether or not their ids match."""
    refusal: str | None = None
    """Why llama.cpp cannot load the tokenizer, so that every case fails."""


@dataclass(frozen=True, slots=True)
class FileRepair:
    """The change that repairs a file."""

    sentence: str
    """What it does, as a gerund phrase."""
    keys: tuple[str, ...]
    """The metadata keys to write."""
    gguf_command: str | None = None
    """The command of the `gguf` package that does the same, where there is one; MODEL and FIXED stand for the files."""


@dataclass(frozen=True, slots=True)
class FixReport:
    """The outcome of a repair."""

    before: Verification
    """The verification of the file as it is."""
    diagnosis: Diagnosis | None = None
    """The diagnosis of the file as it is."""
    repair: FileRepair | None = None
    """What to write; None if nothing needs or can be repaired."""
    after: Verification | None = None
    """The verification of the repaired file; None if none was written."""


def fix_exit_code(report: FixReport) -> int:
    """Return 0 if all cases match in the end, else 1."""
    return int((report.after or report.before).fail > 0)


def summarize_fix(report: FixReport) -> Mapping[str, object]:
    """Return the `summary` of the JSON report."""
    return {"exit_code": fix_exit_code(report)}


def check_fix(report: FixReport, path: str) -> Iterator[str]:
    """Yield every command that people must not be invited to paste into a shell, as `path: problem`."""
    if report.diagnosis:
        yield from check_diagnosis(report.diagnosis, f"{path}.diagnosis")
    if report.repair:
        yield from check_gguf_command(report.repair.gguf_command, f"{path}.repair")
