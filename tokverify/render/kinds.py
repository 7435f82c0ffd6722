"""All kinds of reports that can be written in several formats, and their formats.

Every kind is written in every format. What differs between kinds is a `Document` for people and a list of issues for
CI systems; a few kinds have a page or JUnit suites of their own. All of this is imported when it is used, so that the
command line starts quickly: templates alone take a tenth of a second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from tokverify.render.options import RenderOptions
from tokverify.text.visible import visible_message

if TYPE_CHECKING:
    from tokverify.render.document import Document
    from tokverify.render.issue import CiReport

Format: TypeAlias = Callable[[Any, RenderOptions], str]
"""Writes a report in one format."""

CI_FORMATS = ("github", "gitlab", "sarif")
"""The formats for CI systems; each has a function in `draw_issues.py` that writes the issues of any report."""

SUFFIXES: Mapping[str, tuple[str, ...]] = {
    ".json": ("json", "gitlab", "sarif"),
    ".md": ("markdown",),
    ".xml": ("junit",),
    ".sarif": ("sarif",),
    ".html": ("html",),
    ".htm": ("html",),
}
"""Suffix of a file name -> the formats that such a file can hold, the one that it holds by default first."""

_MODULES: Mapping[str, str] = {
    "run": "run.describe",
    "check": "check",
    "fuzz": "fuzz",
    "diff": "diff",
    "audit": "audit",
    "chat": "chat",
    "stats": "stats",
    "stream": "stream",
    "canonical": "canonical",
    "corpus": "corpus",
    "fix": "fix",
    "convert": "convert",
    "learn": "learn",
    "versions": "versions",
    "report diff": "report_diff",
}
"""Name of a kind -> the module whose `describe` returns its `Document`."""

_ISSUES: Mapping[str, str] = {**_MODULES, "run": "run.issue"}
"""Name of a kind -> the module whose `to_ci_report` returns its issues."""

_SUITES: Mapping[str, str] = {"run": "run.issue", "check": "check", "chat": "chat"}
"""Name of a kind -> the module whose `suites_of` makes suites with more tests than one for each issue, if any does."""


def _call(module: str, function: str, *arguments: Any) -> Any:  # noqa: ANN401 - those of any function
    """Call a function of a module in this package, which is imported when it is used."""
    return getattr(import_module(f"tokverify.render.{module}"), function)(*arguments)


def describe(kind: str, report: object, options: RenderOptions) -> Document:
    """Describe a report of a kind for people."""
    document: Document = _call(_MODULES[kind], "describe", report, options)
    return document


def _list_issues(kind: str, report: object) -> CiReport:
    document = describe(kind, report, RenderOptions())
    issues: CiReport = _call(_ISSUES[kind], "to_ci_report", report)
    return replace(issues, verdict=document.verdict, exit_code=document.exit_code)


def _write_document(format: str, kind: str, report: object, options: RenderOptions) -> str:
    return str(_call(f"draw_{format}", f"draw_{format}", describe(kind, report, options), options))


def _write_json(kind: str, report: object, options: RenderOptions) -> str:  # noqa: ARG001 - as all formats
    from tokverify.report.codec import encode

    return encode(report)


def _write_html(kind: str, report: object, options: RenderOptions) -> str:  # noqa: ARG001 - as all formats
    """Write a page; it folds what few people read, so it leaves out nothing."""
    if kind == "run":
        return str(_call("run.html", "render", report))
    return str(_call("draw_html", "draw_html", describe(kind, report, RenderOptions(verbose=True))))


def _write_junit(kind: str, report: object, options: RenderOptions) -> str:  # noqa: ARG001 - as all formats
    if kind in _SUITES:
        return str(_call("draw_issues", "document", _call(_SUITES[kind], "suites_of", report)))
    return str(_call("draw_issues", "draw_junit", kind, _list_issues(kind, report)))


def _write_issues(format: str, kind: str, report: object, options: RenderOptions) -> str:
    # GitHub refuses a whole SARIF file for one result without a place, and GitLab requires a path in each entry.
    stand_in = "" if format == "github" else options.stand_in
    placed = _call("issue", "place_issues", _list_issues(kind, report), options.root, stand_in)
    return str(_call("draw_issues", f"draw_{format}", placed))


_WRITERS: Mapping[str, Callable[[str, Any, RenderOptions], str]] = {
    "table": partial(_write_document, "table"),
    "json": _write_json,
    "markdown": partial(_write_document, "markdown"),
    "html": _write_html,
    "junit": _write_junit,
    **{format: partial(_write_issues, format) for format in CI_FORMATS},
}
"""Name of a format -> the function that writes a report of a kind in it."""

FORMAT_NAMES = tuple(_WRITERS)
"""The formats in which every report can be written."""

FORMATS: Mapping[str, Mapping[str, Format]] = {
    kind: {name: partial(write, kind) for name, write in _WRITERS.items()} for kind in _MODULES
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
    document = describe(kind, report, RenderOptions())
    formats = {name: partial(write, report) for name, write in FORMATS[kind].items()}
    return Presentation(formats, visible_message(document.verdict), document.exit_code)
