"""All kinds of reports that can be written in several formats, and their formats.

Everything that writes a format is imported when it is used, so that the command line starts quickly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from tokverify.render.options import RenderOptions
from tokverify.text.visible import visible_message

if TYPE_CHECKING:
    from tokverify.render.document import Document

Format: TypeAlias = Callable[[Any, RenderOptions], str]
"""Writes a report in one format."""

CI_FORMATS = ("github", "gitlab", "sarif")
"""The formats for CI systems; each is a module in `render/ci/` that writes the issues of any report."""

SUFFIXES: Mapping[str, tuple[str, ...]] = {
    ".json": ("json", "gitlab", "sarif"),
    ".md": ("markdown",),
    ".xml": ("junit",),
    ".sarif": ("sarif",),
    ".html": ("html",),
    ".htm": ("html",),
}
"""Suffix of a file name -> the formats that such a file can hold, the one that it holds by default first."""

# GitHub refuses a whole SARIF file for one result without a place, and GitLab requires a path in each entry.
_REQUIRES_PLACES = frozenset({"gitlab", "sarif"})


def _build_formats(package: str, *, page: bool = False, junit: bool = False, ci: bool = False) -> dict[str, Format]:
    """Return the formats of a kind of report, by name: `table`, `json`, `markdown`, and those that are chosen.

    The modules of `package` contain the functions: `describe.describe`, `html.render`, `junit.render` and
    `issue.to_ci_report`.
    """
    formats: dict[str, Format] = {
        "table": partial(_render_table, package),
        "json": _render_json,
        "markdown": partial(_render_markdown, package),
    }
    for name, has_it in (("html", page), ("junit", junit)):
        if has_it:
            formats[name] = partial(_render_alone, package, name)
    return formats | {name: partial(_render_for_ci, package, name) for name in CI_FORMATS if ci}


def _render_table(package: str, report: object, options: RenderOptions) -> str:
    from tokverify.render.draw_table import draw_table

    return draw_table(_describe(package, report, options), options)


def _render_markdown(package: str, report: object, options: RenderOptions) -> str:
    from tokverify.render.draw_markdown import draw_markdown

    return draw_markdown(_describe(package, report, options), options)


def _describe(package: str, report: object, options: RenderOptions) -> Document:
    document: Document = _load(package, "describe").describe(report, options)
    return document


def _render_json(report: object, options: RenderOptions) -> str:  # noqa: ARG001 - all formats take options
    from tokverify.report.codec import encode

    return encode(report)


def _render_alone(package: str, name: str, report: object, options: RenderOptions) -> str:  # noqa: ARG001
    return str(_load(package, name).render(report))


def _render_for_ci(package: str, name: str, report: object, options: RenderOptions) -> str:
    from tokverify.render.ci import place_issues

    stand_in = options.stand_in if name in _REQUIRES_PLACES else ""
    issues = place_issues(_load(package, "issue").to_ci_report(report), options.root, stand_in)
    return str(_load("ci", name).render(issues))


def _load(package: str, module: str) -> Any:  # noqa: ANN401 - a module
    return import_module(f"tokverify.render.{package}.{module}")


FORMATS: Mapping[str, Mapping[str, Format]] = {
    "run": _build_formats("run", page=True, junit=True, ci=True),
    "check": _build_formats("check", page=True, junit=True, ci=True),
    "fuzz": _build_formats("fuzz", page=True, junit=True, ci=True),
    "diff": _build_formats("diff", page=True, junit=True, ci=True),
    "audit": _build_formats("audit", page=True, ci=True),
    "chat": _build_formats("chat", page=True, junit=True, ci=True),
    "stats": _build_formats("stats", page=True),
    "stream": _build_formats("stream", page=True, junit=True, ci=True),
    "canonical": _build_formats("canonical", page=True, junit=True, ci=True),
    "corpus": _build_formats("corpus", page=True, junit=True, ci=True),
    "fix": _build_formats("fix"),
    "convert": _build_formats("convert"),
    "learn": _build_formats("learn"),
    "versions": _build_formats("versions"),
    "report diff": _build_formats("report_diff"),
}
"""Kind of a report -> name of a format -> the function that writes a report in it."""

SHOWN_KINDS = tuple(kind for kind in FORMATS if kind != "report diff")
"""The kinds that `tokverify report show` shows."""


@dataclass(frozen=True, slots=True)
class Presentation:
    """A report in all its formats."""

    formats: Mapping[str, Callable[[RenderOptions], str]]
    """Name of a format -> the function that writes the report in it."""
    verdict: str
    """The line that sums the report up."""
    exit_code: int


def present(kind: str, report: object) -> Presentation:
    """Bind a report to its formats."""
    document = _describe(kind.replace(" ", "_"), report, RenderOptions())
    formats = {name: partial(render, report) for name, render in FORMATS[kind].items()}
    return Presentation(formats, visible_message(document.verdict), document.exit_code)
