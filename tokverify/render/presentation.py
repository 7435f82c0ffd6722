"""Presentation: a report, bound to all the formats that it can be written in.

A kind of report has one table, format -> function, which `build_formats` makes of a few functions. Those import what
they need when they are called, so that the command line starts quickly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

if TYPE_CHECKING:
    from tokverify.render import RenderOptions
    from tokverify.render.ci import CiReport
    from tokverify.render.document import Document

Report = TypeVar("Report")
Format: TypeAlias = "Callable[[Report, RenderOptions], str]"
"""Writes a report in one format."""


def _render_github(report: CiReport) -> str:
    from tokverify.render.ci.github import render

    return render(report)


def _render_gitlab(report: CiReport) -> str:
    from tokverify.render.ci.gitlab import render

    return render(report)


def _render_sarif(report: CiReport) -> str:
    from tokverify.render.ci.sarif import render

    return render(report)


CI_FORMATS: Mapping[str, Callable[[CiReport], str]] = {
    "github": _render_github,
    "gitlab": _render_gitlab,
    "sarif": _render_sarif,
}
"""Name of a format for CI systems -> the function that writes it, for reports of all kinds."""

# GitHub refuses a whole SARIF file for one result without a place, and GitLab requires a path in each entry.
_REQUIRES_PLACES = frozenset({"gitlab", "sarif"})


@dataclass(frozen=True, slots=True)
class Presentation:
    """A report in all its formats."""

    formats: Mapping[str, Callable[[RenderOptions], str]]
    """Name of a format -> the function that writes the report in it."""
    verdict: str
    """The line that sums the report up."""
    exit_code: int


def bind_formats(formats: Mapping[str, Format[Report]], report: Report) -> dict[str, Callable[[RenderOptions], str]]:
    """Bind formats to the report that they write."""
    return {name: partial(render, report) for name, render in formats.items()}


def build_formats(
    describe: Callable[[Report, RenderOptions], Document],
    *,
    html: Callable[[Report], str] | None = None,
    junit: Callable[[Report], str] | None = None,
    ci: Callable[[Report], CiReport] | None = None,
) -> dict[str, Format[Report]]:
    """Return the formats of a kind of report, by name: `table`, `json`, `markdown`, and those that are given.

    Args:
        describe: Describes a report for people.
        html: Writes a page.
        junit: Writes JUnit's XML.
        ci: Returns what CI systems show of a report.
    """
    formats: dict[str, Format[Report]] = {
        "table": partial(_render_table, describe),
        "json": _render_json,
        "markdown": partial(_render_markdown, describe),
    }
    for name, render in (("html", html), ("junit", junit)):
        if render:
            formats[name] = partial(_render_without_options, render)
    if ci:
        formats |= {name: partial(_render_for_ci, name, ci) for name in CI_FORMATS}
    return formats


def _render_table(describe: Callable[[Report, RenderOptions], Document], report: Report, options: RenderOptions) -> str:
    from tokverify.render.draw_table import draw_table

    return draw_table(describe(report, options), options)


def _render_markdown(
    describe: Callable[[Report, RenderOptions], Document], report: Report, options: RenderOptions
) -> str:
    from tokverify.render.draw_markdown import draw_markdown

    return draw_markdown(describe(report, options), options)


def _render_json(report: object, options: RenderOptions) -> str:  # noqa: ARG001 - all formats take options
    from tokverify.report.codec import encode

    return encode(report)


def _render_without_options(render: Callable[[Report], str], report: Report, options: RenderOptions) -> str:  # noqa: ARG001
    return render(report)


def _render_for_ci(
    name: str, to_ci_report: Callable[[Report], CiReport], report: Report, options: RenderOptions
) -> str:
    from tokverify.render.ci import place_issues

    stand_in = options.stand_in if name in _REQUIRES_PLACES else ""
    return CI_FORMATS[name](place_issues(to_ci_report(report), options.root, stand_in))
