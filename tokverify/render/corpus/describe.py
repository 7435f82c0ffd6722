"""Describe a verified corpus for people: counts, causes, where they occur, and examples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tokverify.render.corpus.verdict import describe_throughput, format_bytes, list_coverage, verdict
from tokverify.render.document import (
    Column,
    Document,
    Fields,
    Heading,
    Inline,
    Only,
    Section,
    Style,
    Table,
    bar,
    message,
)
from tokverify.render.run.cases import case_details
from tokverify.render.run.sections import diagnosis_sections, sides_section, vocabulary_sections
from tokverify.report.corpus import CorpusExample, CorpusReport, GroupCount, corpus_exit_code
from tokverify.text.wording import list_items, percentage, plural

if TYPE_CHECKING:
    from tokverify.render.options import RenderOptions

_OUTCOMES = {
    0: ("Passed", "all documents compared agree, or no more differ than accepted"),
    1: ("Failed", "more documents differ than accepted"),
    2: ("Incomplete", "something could not be read, or was not compared"),
}
_MAX_ROWS = 20
_MAX_PLACES = 3


def describe(verified: CorpusReport, options: RenderOptions) -> Document:
    """Describe a verified corpus; with `verbose`, every source and script."""
    return Document(
        title=["tokverify corpus: ", message(verified.report.actual.name)],
        verdict=verdict(verified),
        exit_code=corpus_exit_code(verified),
        sections=_describe_sections(verified, verbose=options.verbose),
        outcome=_OUTCOMES[corpus_exit_code(verified)],
        options=verified.report.options,
        versions=verified.report.versions,
    )


def _describe_sections(verified: CorpusReport, *, verbose: bool) -> Iterator[Section]:
    notes = Fields([("" if at else "note", message(note, Style.CAVEAT)) for at, note in enumerate(verified.notes)])
    yield sides_section(verified.report, verbose=verbose)
    if verified.notes:
        yield Section([notes])
    yield from vocabulary_sections(verified.report.vocabulary, verbose=verbose)
    yield Section([Fields(list(_count_lines(verified)))])
    if verified.unreadable_groups:
        yield Section([_tabulate_unreadable(verified)])
    if verified.causes:
        yield Section([_tabulate_causes(verified)])
    for heading, groups in (("source", verified.sources), ("script", verified.scripts)):
        if groups:
            yield Section([_tabulate_groups(heading, groups, verbose=verbose)])
    yield from diagnosis_sections(verified.report, verbose=verbose)
    if verified.examples:
        yield Section([Only("html", [Heading("Examples")])])
    examples = zip(verified.examples, verified.report.results, strict=True)
    for example, result in examples:
        yield Section([case_details(result, verbose=verbose, more=list(_example_lines(example)))])
    if verified.notes and verified.examples:
        # Again, for those who read only the end of a terminal's output.
        yield Section([Only("table", [notes])])


def _count_lines(verified: CorpusReport) -> Iterator[tuple[str, Inline]]:
    yield "compared", f"{plural(verified.documents, 'document')}, {format_bytes(verified.bytes)}"
    yield "tokens", f"{verified.actual_tokens:,} in actual, {verified.expected_tokens:,} in expected"
    for index, (name, share) in enumerate(list_coverage(verified)):
        yield "" if index else "coverage", f"{name}: {share}"
    if verified.throughput:
        yield "throughput", describe_throughput(verified.throughput, verified.bytes)


def _tabulate_causes(verified: CorpusReport) -> Table:
    rows: list[list[Inline]] = [
        [
            message(cause.cause, Style.STRONG),
            bar(f"{cause.documents:,}", cause.documents, verified.differing, Style.ACTUAL),
            percentage(cause.documents, verified.documents),
            message(cause.meaning),
        ]
        for cause in verified.causes
    ]
    number = [Column(name, is_number=True) for name in ("documents", "share")]
    return Table([Column("cause"), *number, Column("meaning")], rows)


def _tabulate_unreadable(verified: CorpusReport) -> Table:
    rows: list[list[Inline]] = [
        [f"{group.count:,}", message(group.reason, Style.ACTUAL), message(list_items(group.places, _MAX_PLACES))]
        for group in verified.unreadable_groups
    ]
    return Table([Column("unreadable", is_number=True), Column("reason"), Column("first at")], rows)


def _tabulate_groups(heading: str, groups: Sequence[GroupCount], *, verbose: bool) -> Table:
    """List groups; of very many, those with the most documents that differ or cannot be read."""
    worst = sorted(groups, key=lambda group: (group.differing + group.unreadable, group.documents), reverse=True)
    shown = groups if verbose or len(groups) <= _MAX_ROWS + 1 else worst[:_MAX_ROWS]
    rows: list[list[Inline]] = [
        [message(group.name), f"{group.documents:,}", _count_differing(group), _count(group.unreadable)]
        for group in shown
    ]
    left_out = len(groups) - len(shown)
    columns = [Column(heading), *(Column(name, is_number=True) for name in ("documents", "differ", "unreadable"))]
    return Table(columns, rows, f"{left_out:,} more, shown with -v" if left_out else "")


def _count_differing(group: GroupCount) -> Inline:
    """Show how many documents differ, with a bar for their share."""
    if not group.differing:
        return message("-", Style.DIM)
    return bar(f"{group.differing:,}", group.differing, group.documents, Style.ACTUAL)


def _count(count: int) -> Inline:
    return message(f"{count:,}", Style.ACTUAL) if count else message("-", Style.DIM)


def _example_lines(example: CorpusExample) -> Iterator[tuple[str, Inline]]:
    verb = "shrunk from" if example.shrunk else "found in"
    yield "document", message(f"{verb} {example.place}")
    if example.judgment:
        yield "judge", message(example.judgment, Style.NOTICE)
