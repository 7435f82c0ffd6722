"""The output formats: each turns a report into text, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tokverify.formats.ci import Told, ci_formats

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokverify.formats.presentation import Presentation
    from tokverify.report import Report


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """How to write for eyes; a format for machines ignores all of it but `root`.

    `width` is in terminal cells. `verbose` shows what passed too and folds nothing; `quiet` leaves only the
    verdict. `root` is the directory from which CI systems want paths written, if it is known; `stand_in` is what they
    are pointed at, from there, where no file below it is meant and they want one.
    """

    width: int = 100
    color: bool = False
    verbose: bool = False
    quiet: bool = False
    root: str = ""
    stand_in: str = "."


def _table(report: Report, options: RenderOptions) -> str:
    from tokverify.formats.table import render

    return render(report, options)


def _json(report: Report, options: RenderOptions) -> str:  # noqa: ARG001 - the signature of every format
    from tokverify.formats.json import render

    return render(report)


def _markdown(report: Report, options: RenderOptions) -> str:
    from tokverify.formats.markdown import render

    return render(report, options)


def _html(report: Report, options: RenderOptions) -> str:  # noqa: ARG001 - the signature of every format
    from tokverify.formats.html.run import render

    return render(report)


def _junit(report: Report, options: RenderOptions) -> str:  # noqa: ARG001 - the signature of every format
    from tokverify.formats.junit import render

    return render(report)


def _told(report: Report) -> Told:
    from tokverify.formats.issue import CHECKS, report_issues
    from tokverify.formats.verdict import verdict

    return Told(
        issues=report_issues(report),
        checks=list(CHECKS.values()),
        verdict=verdict(report),
        exit_code=report.exit_code,
    )


def job_summary(report: Report, limit: int) -> str:
    """Write what GitHub shows of a step, in at most `limit` bytes."""
    from tokverify.formats.markdown import render

    return render(report, RenderOptions(), limit)


FORMATS: Mapping[str, Callable[[Report, RenderOptions], str]] = {
    "table": _table,
    "json": _json,
    "markdown": _markdown,
    "html": _html,
    "junit": _junit,
    **ci_formats(_told),
}
"""Name -> how a report is written."""


def present(report: Report) -> Presentation:
    """Return how a report is written."""
    from tokverify.formats.presentation import Presentation, bound
    from tokverify.formats.verdict import verdict

    return Presentation(bound(FORMATS, report), verdict(report), report.exit_code, partial(job_summary, report))


SUFFIXES: Mapping[str, str] = {".json": "json", ".md": "markdown", ".xml": "junit", ".sarif": "sarif", ".html": "html"}
"""Suffix -> the format that a file with such a name holds, if nothing else is asked for."""
