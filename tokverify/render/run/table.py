"""The `table` format, for a person: who was compared, a summary by suite, and every difference in full."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.render.layout import draw, words
from tokverify.render.run.case_section import case_sections
from tokverify.render.run.diagnosis_section import diagnosis_section
from tokverify.render.run.heading import heading, suites_section, vocabulary_section
from tokverify.render.run.verdict import verdict

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tokverify.render import RenderOptions
    from tokverify.report.run import Report

_VERDICT_STYLES = {0: "bold green", 1: "bold red", 2: "bold yellow"}


def render(report: Report, options: RenderOptions) -> str:
    """Write a report as tables; the last line is the verdict."""
    sections = [] if options.quiet else list(_sections(report, verbose=options.verbose))
    style = _VERDICT_STYLES[2 if report.exit_code == 0 and report.vocabulary else report.exit_code]
    return draw([*sections, words(verdict(report), style)], options)


def _sections(report: Report, *, verbose: bool) -> Iterator[RenderableType]:
    yield heading(report, verbose=verbose)
    yield vocabulary_section(report.vocabulary, verbose=verbose)
    yield suites_section(report)
    if report.diagnosis:
        yield diagnosis_section(report.diagnosis, verbose=verbose)
    yield from case_sections(report, verbose=verbose)
