"""The output formats: each turns a report into text, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokverify.render.presentation import CI_FORMATS, Presentation, bind_formats, renderers

if TYPE_CHECKING:
    from tokverify.report.run import Report


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """How to write a report.

    For eyes: `width` is in terminal cells; `verbose` shows what passed too and folds nothing; `quiet` leaves only the
    verdict; `limit` is how many bytes `markdown` may take, if that is limited: what comes last is left out.
    For CI systems: `root` is the directory from which they want paths written, if it is known; `stand_in` is what they
    are pointed at, from there, where no file below it is meant and they want one.
    """

    width: int = 100
    color: bool = False
    verbose: bool = False
    quiet: bool = False
    limit: int | None = None
    root: str = ""
    stand_in: str = "."


FORMATS: Mapping[str, Callable[[Report, RenderOptions], str]] = renderers(
    {
        "table": "tokverify.render.run.table:render",
        "json": "tokverify.render.run.json:render",
        "markdown": "tokverify.render.run.markdown:render",
        "html": "tokverify.render.run.html:render",
        "junit": "tokverify.render.run.junit:render",
        **dict.fromkeys(CI_FORMATS, "tokverify.render.run.issue:to_ci_report"),
    }
)
"""Name -> how a report is written."""


def present(report: Report) -> Presentation:
    """Return how a report is written."""
    from tokverify.render.run.verdict import verdict

    return Presentation(bind_formats(FORMATS, report), verdict(report), report.exit_code)


SUFFIXES: Mapping[str, str] = {".json": "json", ".md": "markdown", ".xml": "junit", ".sarif": "sarif", ".html": "html"}
"""Suffix -> the format that a file with such a name holds, if nothing else is asked for."""
