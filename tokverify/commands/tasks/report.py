"""Write reports as JSON, read them back, and compare two."""

from __future__ import annotations

from pathlib import Path

from tokverify.commands.tasks.run import RunResult, update_baseline
from tokverify.compare.baseline import Baseline
from tokverify.compare.report_diff import compare_reports
from tokverify.report import codec
from tokverify.report.report_diff import ReportDiff
from tokverify.report.run import Report


def to_json(report: object) -> str:
    """Write a report of any kind as JSON. Equal reports give equal text.

    The document begins with `schema_version`, `kind`, and a `summary` with the exit code.

    Args:
        report: A report, as returned by functions such as `verify_model`.

    Raises:
        TypeError: If the object is not a report.
    """
    if not any(type(report) is kind.type for kind in codec.KINDS.values()):
        raise TypeError(f"a {type(report).__name__} is not a report; pass what a function such as verify_model returns")
    return codec.encode(report)


def read_report(path: str | Path) -> object:
    """Read a report of any kind from a JSON file.

    Args:
        path: The file.

    Returns:
        The report, an instance of the class that the command returns.

    Raises:
        TokverifyError: If the file cannot be read or is not a report. The message names the place in the document.
        UnsupportedError: If another version of tokverify wrote it.
    """
    return codec.read_any(path).report


def apply_baseline(path: Path, baseline: Path, *, update: bool = False, reason: str | None = None) -> RunResult:
    """Read a report of `tokverify run` and apply a baseline to it instead of the one that the run used.

    With `update`, it is a baseline that lists exactly what fails in the report, and writing it is prepared; `reason` is
    that of new entries.

    Raises:
        TokverifyError: If a file cannot be read, or there are new failures and no reason.
    """
    report = codec.read(path, Report)
    return update_baseline(report, baseline, reason) if update else RunResult(Baseline.load(baseline).apply(report), {})


def diff_reports(old: str | Path, new: str | Path) -> ReportDiff:
    """Compare two saved reports of `tokverify run`, case by case.

    Raises:
        TokverifyError: If one of them cannot be read or is not such a report.
    """
    return compare_reports(codec.read(old, Report), codec.read(new, Report))
