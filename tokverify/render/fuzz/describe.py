"""Describe a fuzzing run for people: what was tried, and each cause with its minimal text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.render.document import (
    Column,
    Document,
    Fields,
    Inline,
    Only,
    Section,
    Style,
    Table,
    bar,
    message,
    shorten,
)
from tokverify.render.fuzz.verdict import coverage_shares, describe_tried, verdict
from tokverify.render.run.cases import case_sections
from tokverify.render.run.differences import difference_sections
from tokverify.render.run.sections import diagnosis_sections, limit_sections, sides_section, vocabulary_sections
from tokverify.report.fuzz import FuzzReport, fuzz_exit_code

if TYPE_CHECKING:
    from tokverify.render.options import RenderOptions

_OUTCOMES = {
    0: ("Nothing found", "no text was found on which the two sides differ"),
    1: ("Failed", "the tokenizers differ, or texts were found on which they do"),
    2: ("Nothing compared", "no text could be compared"),
    130: ("Interrupted", "Ctrl-C ended the run; the results up to that point are below"),
}


def describe(fuzzed: FuzzReport, options: RenderOptions) -> Document:
    """Describe a run."""
    return Document(
        title=["tokverify fuzz: ", message(fuzzed.report.actual.name)],
        verdict=verdict(fuzzed),
        exit_code=fuzz_exit_code(fuzzed),
        sections=_describe_sections(fuzzed, verbose=options.verbose),
        outcome=_OUTCOMES[fuzz_exit_code(fuzzed)],
        options=fuzzed.report.options,
        versions=fuzzed.report.versions,
    )


def _describe_sections(fuzzed: FuzzReport, *, verbose: bool) -> Iterator[Section]:
    notes = Fields([("" if at else "note", message(note, Style.CAVEAT)) for at, note in enumerate(fuzzed.notes)])
    yield sides_section(fuzzed.report, verbose=verbose)
    if fuzzed.notes:
        yield Section([notes])
    yield from vocabulary_sections(fuzzed.report.vocabulary, verbose=verbose, differences=fuzzed.report.differences)
    yield from difference_sections(fuzzed.report)
    yield from tried_sections(fuzzed)
    yield from limit_sections(fuzzed.report, "text")
    yield from diagnosis_sections(fuzzed.report, verbose=verbose)
    yield from cause_sections(fuzzed)
    yield from case_sections(fuzzed.report, verbose=verbose, heading="cause")
    if fuzzed.notes:
        # Again, for those who read only the end of a terminal's output.
        yield Section([Only("table", [notes])])


def tried_sections(fuzzed: FuzzReport) -> Iterator[Section]:
    """Describe which texts were tried."""
    tried: list[tuple[str, Inline]] = [
        ("tried", describe_tried(fuzzed)),
        ("coverage", ", ".join(coverage_shares(fuzzed))),
    ]
    yield Section([Fields(tried)])
    yield Section([_tabulate_generators(fuzzed)])


def _tabulate_generators(fuzzed: FuzzReport) -> Table:
    rows: list[list[Inline]] = []
    for name, tally in fuzzed.generators.items():
        failing: Inline = message("-", Style.DIM)
        if tally.failing:
            failing = bar(f"{tally.failing:,}", tally.failing, tally.strings, Style.ACTUAL)
        rows.append([message(name), f"{tally.strings:,}", failing])
    return Table([Column("generator"), Column("texts", is_number=True), Column("fail", is_number=True)], rows)


def cause_sections(fuzzed: FuzzReport) -> Iterator[Section]:
    """Describe how many texts show each cause, the most frequent first."""
    if not fuzzed.causes:
        return
    most = max(cause.strings for cause in fuzzed.causes)
    found = sorted(zip(fuzzed.causes, fuzzed.report.results, strict=True), key=lambda pair: -pair[0].strings)
    rows: list[list[Inline]] = [
        [
            message(result.case.name),
            bar(f"{cause.strings:,}", cause.strings, most, Style.ACTUAL),
            shorten(result.case.text),
            message(cause.generator),
        ]
        for cause, result in found
    ]
    columns = [Column("cause"), Column("texts", is_number=True), Column("minimal text"), Column("first found by")]
    yield Section([Only("markdown", [Table(columns, rows)])], "Causes")
