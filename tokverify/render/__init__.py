"""Write reports as text: one package for each kind of report, one module for each format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokverify.render.presentation import Format, Presentation, bind_formats, build_formats

if TYPE_CHECKING:
    from tokverify.render.ci import CiReport
    from tokverify.render.document import Document
    from tokverify.report.run import Report


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """How to write a report."""

    width: int = 100
    """The width of the terminal in cells, for `table`."""
    color: bool = False
    verbose: bool = False
    """Whether to show what passed too and to fold nothing."""
    quiet: bool = False
    """Whether to write the verdict only."""
    limit: int | None = None
    """How many bytes `markdown` may take; what comes last is left out."""
    root: str = ""
    """The directory to which CI systems want paths to be relative; empty if it is unknown."""
    stand_in: str = "."
    """The path, relative to `root`, for issues about no file below it, where a CI system requires one."""


def _describe(report: Report, options: RenderOptions) -> Document:
    from tokverify.render.run.describe import describe

    return describe(report, options)


def _render_html(report: Report) -> str:
    from tokverify.render.run.html import render

    return render(report)


def _render_junit(report: Report) -> str:
    from tokverify.render.run.junit import render

    return render(report)


def _to_ci_report(report: Report) -> CiReport:
    from tokverify.render.run.issue import to_ci_report

    return to_ci_report(report)


FORMATS: Mapping[str, Format[Report]] = build_formats(
    _describe, html=_render_html, junit=_render_junit, ci=_to_ci_report
)
"""Name of a format -> the function that writes a report of `tokverify run` in it."""


def present(report: Report) -> Presentation:
    """Bind a report to its formats."""
    from tokverify.render.run.verdict import verdict
    from tokverify.report.run_summary import run_exit_code

    return Presentation(bind_formats(FORMATS, report), verdict(report), run_exit_code(report))


SUFFIXES: Mapping[str, str] = {".json": "json", ".md": "markdown", ".xml": "junit", ".sarif": "sarif", ".html": "html"}
"""Suffix of a file name -> the format that such a file holds by default."""
