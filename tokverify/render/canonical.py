"""Describe a checked log: for people, as issues for CI systems, and in one line."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.render.case_text import headline, result_alignment
from tokverify.render.corpus import tabulate_causes
from tokverify.render.document import Document, Heading, Only, Paragraph, Section, message
from tokverify.render.issue import Check, CiReport, Issue, Level, join_lines
from tokverify.render.options import RenderOptions
from tokverify.render.run.cases import case_details
from tokverify.render.run.describe import sides_section
from tokverify.render.run.issue import properties_of
from tokverify.report.canonical import CanonicalReport, DeviationCount, canonical_exit_code
from tokverify.text.visible import visible_message
from tokverify.text.wording import percentage, plural, verb

_OUTCOMES = {
    0: ("Canonical", "all sequences are the encoding of their own text"),
    1: ("Deviating", "a sequence is not the encoding of its own text"),
    2: ("Nothing compared", "the log contains no ids"),
}
_CANONICAL_CHECKS = (
    Check("canonical-deviation", "deviation", "Logged ids are not the encoding of their own text.", Level.ERROR),
)
"""The kinds of issues in a report of `tokverify canonical`."""


def describe(checked: CanonicalReport, options: RenderOptions) -> Document:
    """Describe a checked log."""
    return Document(
        title=["tokverify canonical: ", message(checked.report.expected.source)],
        verdict=verdict(checked),
        exit_code=canonical_exit_code(checked),
        sections=_describe_sections(checked, verbose=options.verbose),
        outcome=_OUTCOMES[canonical_exit_code(checked)],
        options=checked.report.options,
        versions=checked.report.versions,
    )


def _describe_sections(checked: CanonicalReport, *, verbose: bool) -> Iterator[Section]:
    yield sides_section(checked.report, verbose=verbose)
    if checked.causes:
        causes = [(count.cause, count.sequences, count.cause.meaning) for count in checked.causes]
        yield Section([tabulate_causes("sequences", causes, checked.deviating, checked.sequences)])
    if checked.report.results:
        yield Section([Only("html", [Heading("Examples")])])
        yield Section([Only("html", [Paragraph("Actual is the encoding of the text, expected are the logged ids.")])])
    for result in checked.report.results:
        yield Section([case_details(result, verbose=verbose)])


def to_ci_report(checked: CanonicalReport) -> CiReport:
    """Return what CI systems show of a checked log."""
    return CiReport(
        issues=(_issue(count, checked) for count in checked.causes),
        checks=_CANONICAL_CHECKS,
        properties=properties_of(checked.report, verdict(checked)),
    )


def _example_lines(count: DeviationCount, checked: CanonicalReport) -> Iterator[str]:
    """Yield the examples of a cause: the line of the log, the text, and both tokenizations."""
    for result in checked.report.results:
        if result.case.id in count.cases:
            yield f"{visible_message(result.case.file)}:{result.case.line}: {headline(result)}"
            yield from result_alignment(result)


def _issue(count: DeviationCount, checked: CanonicalReport) -> Issue:
    first = next((result.case for result in checked.report.results if result.case.id in count.cases), None)
    share = percentage(count.sequences, checked.sequences)
    summary = f"{plural(count.sequences, 'sequence')} ({share}): {count.cause.meaning}"
    return Issue(
        check="canonical-deviation",
        level=Level.ERROR,
        title=f"deviation: {count.cause}",
        message=join_lines([summary, *_example_lines(count, checked)]),
        path=checked.report.expected.source,
        line=first.line if first else 1,
        key=f"{checked.report.expected.source}\0{count.cause}",
    )


def verdict(checked: CanonicalReport) -> str:
    """Sum up a report, such as `1,200 sequences: 36 deviate (3.00%), 0.40% of the tokens`."""
    if not checked.tokens:
        return f"{plural(checked.sequences, 'sequence')}: no ids were compared"
    count = plural(checked.sequences, "sequence")
    if not checked.deviating:
        return f"{count}, {plural(checked.tokens, 'token')}: all are the encoding of their own text"
    deviate, share = verb(checked.deviating, "deviate"), percentage(checked.deviating, checked.sequences)
    tokens = percentage(checked.deviating_tokens, checked.tokens)
    return f"{count}: {checked.deviating:,} {deviate} ({share}), with {tokens} of {plural(checked.tokens, 'token')}"
