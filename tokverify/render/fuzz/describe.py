"""Describe a fuzzing run for people: what was tried, and each cause with its minimal text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.render.document import Column, Document, Fields, Inline, Only, Section, Style, Table, message
from tokverify.render.fuzz.verdict import coverage_shares, describe_tried, verdict
from tokverify.render.run.cases import case_sections
from tokverify.render.run.differences import difference_sections
from tokverify.render.run.sections import diagnosis_sections, limit_sections, sides_section, vocabulary_sections
from tokverify.report.fuzz import FuzzReport, fuzz_exit_code

if TYPE_CHECKING:
    from tokverify.render.options import RenderOptions


def describe(fuzzed: FuzzReport, options: RenderOptions) -> Document:
    """Describe a run."""
    return Document(
        title=["tokverify fuzz: ", message(fuzzed.report.actual.name)],
        verdict=verdict(fuzzed),
        exit_code=fuzz_exit_code(fuzzed),
        sections=_describe_sections(fuzzed, verbose=options.verbose),
    )


def _describe_sections(fuzzed: FuzzReport, *, verbose: bool) -> Iterator[Section]:
    notes = Fields([("" if at else "note", message(note, Style.CAVEAT)) for at, note in enumerate(fuzzed.notes)])
    yield sides_section(fuzzed.report, verbose=verbose)
    if fuzzed.notes:
        yield Section([notes])
    yield from vocabulary_sections(fuzzed.report.vocabulary, verbose=verbose, differences=fuzzed.report.differences)
    yield from difference_sections(fuzzed.report)
    tried: list[tuple[str, Inline]] = [
        ("tried", describe_tried(fuzzed)),
        ("coverage", ", ".join(coverage_shares(fuzzed))),
    ]
    yield Section([Fields(tried)])
    yield Section([_tabulate_generators(fuzzed)])
    yield from limit_sections(fuzzed.report, "text")
    yield from diagnosis_sections(fuzzed.report, verbose=verbose)
    yield from case_sections(fuzzed.report, verbose=verbose, heading="cause")
    if fuzzed.notes:
        # Again, for those who read only the end of a terminal's output.
        yield Section([Only("table", [notes])])


def _tabulate_generators(fuzzed: FuzzReport) -> Table:
    rows: list[list[Inline]] = []
    for name, tally in fuzzed.generators.items():
        failing = message(f"{tally.failing:,}", Style.ACTUAL) if tally.failing else message("-", Style.DIM)
        rows.append([message(name), f"{tally.strings:,}", failing])
    return Table([Column("generator"), Column("texts", is_number=True), Column("fail", is_number=True)], rows)
