"""All kinds of reports that can be written in several formats, and their formats.

Every kind is written in every format. What differs between kinds is a `Document` for people and a list of issues for
CI systems; a few kinds have a page or JUnit suites of their own. All of this is imported when it is used, so that the
command line starts quickly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from tokverify.render.options import RenderOptions
from tokverify.text.visible import visible_message

if TYPE_CHECKING:
    from tokverify.render.document import Document
    from tokverify.render.issue import CiReport
    from tokverify.report.run import Report

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


@dataclass(frozen=True, slots=True)
class _Kind:
    """What the formats need to know about a kind of report."""

    describe: Callable[[Any, RenderOptions], Document]
    to_ci_report: Callable[[Any], CiReport]
    page: Callable[[Any], str] | None = None
    """Writes a page that shows more than the document."""
    junit: Callable[[Any], str] | None = None
    """Writes suites with more tests than one for each issue."""


def _run() -> _Kind:
    from tokverify.render.run import describe, issue

    return _Kind(describe.describe, issue.to_ci_report, _run_page, _run_junit)


def _run_page(report: Report) -> str:
    # Templates take a tenth of a second to import, and most runs write no page.
    from tokverify.render.run.html import render

    return render(report)


def _run_junit(report: Report) -> str:
    from tokverify.render.run.junit import render

    return render(report)


def _check() -> _Kind:
    from tokverify.render import check

    return _Kind(check.describe, check.to_ci_report, junit=check.render)


def _chat() -> _Kind:
    from tokverify.render import chat

    return _Kind(chat.describe, chat.to_ci_report, junit=chat.render)


def _fuzz() -> _Kind:
    from tokverify.render import fuzz

    return _Kind(fuzz.describe, fuzz.to_ci_report)


def _diff() -> _Kind:
    from tokverify.render import diff

    return _Kind(diff.describe, diff.to_ci_report)


def _audit() -> _Kind:
    from tokverify.render import audit

    return _Kind(audit.describe, audit.to_ci_report)


def _stats() -> _Kind:
    from tokverify.render import stats

    return _Kind(stats.describe, stats.to_ci_report)


def _stream() -> _Kind:
    from tokverify.render import stream

    return _Kind(stream.describe, stream.to_ci_report)


def _canonical() -> _Kind:
    from tokverify.render import canonical

    return _Kind(canonical.describe, canonical.to_ci_report)


def _corpus() -> _Kind:
    from tokverify.render import corpus

    return _Kind(corpus.describe, corpus.to_ci_report)


def _fix() -> _Kind:
    from tokverify.render import fix

    return _Kind(fix.describe, fix.to_ci_report)


def _convert() -> _Kind:
    from tokverify.render import convert

    return _Kind(convert.describe, convert.to_ci_report)


def _learn() -> _Kind:
    from tokverify.render import learn

    return _Kind(learn.describe, learn.to_ci_report)


def _versions() -> _Kind:
    from tokverify.render import versions

    return _Kind(versions.describe, versions.to_ci_report)


def _report_diff() -> _Kind:
    from tokverify.render import report_diff

    return _Kind(report_diff.describe, report_diff.to_ci_report)


_KINDS: Mapping[str, Callable[[], _Kind]] = {
    "run": _run,
    "check": _check,
    "fuzz": _fuzz,
    "diff": _diff,
    "audit": _audit,
    "chat": _chat,
    "stats": _stats,
    "stream": _stream,
    "canonical": _canonical,
    "corpus": _corpus,
    "fix": _fix,
    "convert": _convert,
    "learn": _learn,
    "versions": _versions,
    "report diff": _report_diff,
}
"""Name of a kind -> a function that imports what writes it."""


def describe(kind: str, report: object, options: RenderOptions) -> Document:
    """Describe a report of a kind for people."""
    return _KINDS[kind]().describe(report, options)


def _write_table(kind: str, report: object, options: RenderOptions) -> str:
    from tokverify.render.draw_table import draw_table

    return draw_table(describe(kind, report, options), options)


def _write_json(kind: str, report: object, options: RenderOptions) -> str:  # noqa: ARG001 - as all formats
    from tokverify.report.codec import encode

    return encode(report)


def _write_markdown(kind: str, report: object, options: RenderOptions) -> str:
    from tokverify.render.draw_markdown import draw_markdown

    return draw_markdown(describe(kind, report, options), options)


def _write_html(kind: str, report: object, options: RenderOptions) -> str:  # noqa: ARG001 - as all formats
    """Write a page; it folds what few people read, so it leaves out nothing."""
    from tokverify.render.draw_html import draw_html

    found = _KINDS[kind]()
    return found.page(report) if found.page else draw_html(found.describe(report, RenderOptions(verbose=True)))


def _write_junit(kind: str, report: object, options: RenderOptions) -> str:  # noqa: ARG001 - as all formats
    from tokverify.render.draw_junit import draw_junit

    found = _KINDS[kind]()
    return found.junit(report) if found.junit else draw_junit(kind, found.to_ci_report(report))


def _write_github(kind: str, report: object, options: RenderOptions) -> str:
    from tokverify.render.draw_issues import draw_github
    from tokverify.render.issue import place_issues

    return draw_github(place_issues(_KINDS[kind]().to_ci_report(report), options.root, ""))


# GitHub refuses a whole SARIF file for one result without a place, and GitLab requires a path in each entry.
def _write_gitlab(kind: str, report: object, options: RenderOptions) -> str:
    from tokverify.render.draw_issues import draw_gitlab
    from tokverify.render.issue import place_issues

    return draw_gitlab(place_issues(_KINDS[kind]().to_ci_report(report), options.root, options.stand_in))


def _write_sarif(kind: str, report: object, options: RenderOptions) -> str:
    from tokverify.render.draw_issues import draw_sarif
    from tokverify.render.issue import place_issues

    return draw_sarif(place_issues(_KINDS[kind]().to_ci_report(report), options.root, options.stand_in))


_WRITERS: Mapping[str, Callable[[str, Any, RenderOptions], str]] = {
    "table": _write_table,
    "json": _write_json,
    "markdown": _write_markdown,
    "html": _write_html,
    "junit": _write_junit,
    "github": _write_github,
    "gitlab": _write_gitlab,
    "sarif": _write_sarif,
}
"""Name of a format -> the function that writes a report of a kind in it."""

FORMATS: Mapping[str, Mapping[str, Format]] = {
    kind: {name: partial(write, kind) for name, write in _WRITERS.items()} for kind in _KINDS
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
