"""The report of `tokverify train`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tokverify.report.fields import Count
from tokverify.report.run import Report
from tokverify.report.run_check import check_run
from tokverify.report.run_summary import run_exit_code


@dataclass(frozen=True, slots=True)
class Training:
    """The result of training."""

    report: Report
    """The comparison of the GGUF file with the trained tokenizer, with a diagnosis if they differ."""
    names: tuple[str, ...]
    """The files that were written."""
    size: Count
    """The number of tokens."""
    strings: Count
    """The number of generated texts that were compared besides the cases."""
    notes: tuple[str, ...]
    """What else the user should know."""


def summarize_training(training: Training) -> Mapping[str, object]:
    """Return the `summary` of the JSON report."""
    return {"exit_code": run_exit_code(training.report)}


def check_training(training: Training, path: str) -> Iterator[str]:
    """Yield every inconsistency of a report that was read, as `path: problem`."""
    yield from check_run(training.report, f"{path}.report")
