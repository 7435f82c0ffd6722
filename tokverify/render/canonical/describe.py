"""Describe a checked log for people: counts, causes, and an excerpt of each example."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.render.canonical.verdict import verdict
from tokverify.render.document import (
    Column,
    Document,
    Heading,
    Inline,
    Only,
    Paragraph,
    Section,
    Style,
    Table,
    bar,
    message,
)
from tokverify.render.run.cases import case_details
from tokverify.render.run.sections import sides_section
from tokverify.report.canonical import DEVIATIONS, CanonicalReport, canonical_exit_code
from tokverify.text.wording import percentage

if TYPE_CHECKING:
    from tokverify.render.options import RenderOptions

_OUTCOMES = {
    0: ("Canonical", "all sequences are the encoding of their own text"),
    1: ("Deviating", "a sequence is not the encoding of its own text"),
    2: ("Nothing compared", "the log contains no ids"),
}


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
        yield Section([_tabulate_causes(checked)])
    if checked.report.results:
        yield Section([Only("html", [Heading("Examples")])])
        yield Section([Only("html", [Paragraph("Actual is the encoding of the text, expected are the logged ids.")])])
    for result in checked.report.results:
        yield Section([case_details(result, verbose=verbose)])


def _tabulate_causes(checked: CanonicalReport) -> Table:
    rows: list[list[Inline]] = [
        [
            message(count.cause, Style.STRONG),
            bar(f"{count.sequences:,}", count.sequences, checked.deviating, Style.ACTUAL),
            percentage(count.sequences, checked.sequences),
            message(DEVIATIONS[count.cause]),
        ]
        for count in checked.causes
    ]
    numbers = [Column(name, is_number=True) for name in ("sequences", "share")]
    return Table([Column("cause"), *numbers, Column("meaning")], rows)
