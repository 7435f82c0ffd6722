"""Describe a report of `tokverify run` for people: who was compared, a summary by suite, and every difference."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.render.document import Document, Paragraph, Section, Style, message, only
from tokverify.render.options import RenderOptions
from tokverify.render.run.cases import case_sections
from tokverify.render.run.differences import difference_sections
from tokverify.render.run.sections import (
    answer_sections,
    sides_section,
    suites_section,
    vocabulary_sections,
)
from tokverify.render.run.verdict import blame, verdict
from tokverify.report.finding import Severity
from tokverify.report.run import Report, run_exit_code, vocabularies_differ
from tokverify.report.tokenizer_difference import Aspect


def describe(report: Report, options: RenderOptions) -> Document:
    """Describe a report."""
    exit_code = run_exit_code(report)
    is_reserved = exit_code == 0 and (vocabularies_differ(report.vocabulary) or _has_doubts(report))
    return Document(
        title=["tokverify: ", message(report.actual.name)],
        verdict=verdict(report),
        exit_code=exit_code,
        sections=_sections(report, verbose=options.verbose),
        verdict_style=Style.WARNING if is_reserved else None,
    )


def _has_doubts(report: Report) -> bool:
    """Check whether a verdict that passes must not look like a normal one."""
    serious = (each for each in report.differences if each.severity > Severity.INFO)
    return report.rules > 0 or any(each.aspect is not Aspect.DECODING for each in serious)


def _sections(report: Report, *, verbose: bool) -> Iterator[Section]:
    if sentence := blame(report):
        yield Section([Paragraph(message(sentence, Style.CAVEAT))])
    answer = list(answer_sections(report, verbose=verbose))
    yield from only("markdown", answer)
    yield sides_section(report, verbose=verbose)
    yield from vocabulary_sections(report.vocabulary, verbose=verbose, differences=report.differences)
    yield from difference_sections(report, verbose=verbose)
    yield suites_section(report, verbose=verbose)
    yield from case_sections(report, verbose=verbose)
    # Last, since people read the end of a terminal's output first.
    yield from only("table", answer)
