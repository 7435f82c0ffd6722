"""Describe a comparison of two versions for a person: the parts that changed, and what that changes for texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tokverify.render.diff.consequence import consequence_sections
from tokverify.render.diff.verdict import (
    describe_cause,
    list_names,
    shorten_value,
    summarize_effect,
    summarize_part,
    verdict,
)
from tokverify.render.document import (
    Block,
    Bullets,
    Column,
    Details,
    Document,
    Fields,
    Heading,
    Inline,
    Names,
    Only,
    Paragraph,
    Section,
    Span,
    Style,
    Table,
    bar,
    exact,
    message,
)
from tokverify.render.fuzz.describe import cause_sections, tried_sections
from tokverify.render.fuzz.verdict import verdict as fuzz_verdict
from tokverify.render.run.cases import case_details, case_sections
from tokverify.render.run.sections import suites_section
from tokverify.report.diff import ChangeReport, Effect, Example, Part, diff_exit_code, new_side, old_side
from tokverify.report.run import Side
from tokverify.report.run_summary import FAILING
from tokverify.text.wording import percentage, plural

if TYPE_CHECKING:
    from tokverify.render.options import RenderOptions

_OUTCOMES = {
    0: ("Nothing changed", "no text was found that the two encode differently, and no part differs that must not"),
    1: ("Changed", "parts differ, or texts were found that the two encode differently"),
    2: ("Nothing compared", "no text could be compared"),
    130: ("Interrupted", "Ctrl-C stopped the fuzzing; this shows what was found until then"),
}
_MAX_EXAMPLES = 10
_MAX_CHANGES = {"table": 10, "markdown": 50}


def describe(report: ChangeReport, options: RenderOptions) -> Document:
    """Describe a comparison."""
    return Document(
        title=[message(old_side(report).source), " → ", message(new_side(report).source)],
        verdict=verdict(report),
        exit_code=diff_exit_code(report),
        sections=_describe_sections(report, verbose=options.verbose),
        outcome=_OUTCOMES[diff_exit_code(report)],
        options=report.options,
        versions=report.versions,
    )


def _describe_sections(report: ChangeReport, *, verbose: bool) -> Iterator[Section]:
    sides = [*_side_lines("old", old_side(report)), *_side_lines("new", new_side(report))]
    yield Section([Fields(sides)])
    if report.not_compared:
        yield Section([Bullets(list(map(message, report.not_compared)))], "Not compared", Style.WARNING)
    yield from consequence_sections(report)
    yield Section([Only("html", [Heading("Parts")])])
    for part in report.parts:
        yield Section([_describe_part(part, verbose=verbose)])
    if not report.parts:
        yield Section([Only("html", [Paragraph("No part differs.")])])
    if report.effect:
        yield Section([Only("html", [Heading("Effect on the corpus")])])
        sentence = Fields([("corpus", message(summarize_effect(report.effect)))])
        yield Section([sentence, Only("html", [_tabulate_effect(report.effect)])])
    yield Section([Only("html", [Heading("Cases")])])
    yield suites_section(report.report, verbose=verbose)
    yield from _describe_cases(report, verbose=verbose)
    if report.fuzzed:
        yield Section([Only("html", [Heading("Found by fuzzing")])])
        yield Section([Fields([("fuzzed", message(fuzz_verdict(report.fuzzed)))])])
        yield from (Section([Only("html", section.blocks)]) for section in tried_sections(report.fuzzed))
        yield from cause_sections(report.fuzzed)
        yield from case_sections(report.fuzzed.report, verbose=verbose, heading="generated text")


def _side_lines(role: str, side: Side) -> Iterator[tuple[str, Inline]]:
    encoder = "tokverify, as llama.cpp would" if side.family else side.name
    yield role, [message(side.source, Style.STRONG), message(f"  encoded by {encoder}", Style.DIM)]
    if side.fingerprint:
        yield "", Span(f"fingerprint {side.fingerprint}", Style.DIM)


def _describe_part(part: Part, *, verbose: bool) -> Block:
    tables = [Only(format, [_list_changes(part, None if verbose else limit)]) for format, limit in _MAX_CHANGES.items()]
    return Details(Span(summarize_part(part), Style.STRONG), tables)


def _tabulate_effect(effect: Effect) -> Table:
    """Show which shares of a corpus change; the other formats have them in a sentence."""
    counts = {"lines": (effect.changed_lines, effect.lines), "bytes": (effect.changed_bytes, effect.bytes)}
    rows: list[list[Inline]] = [
        [name, bar(percentage(part, whole), part, whole, Style.ACTUAL), f"{part:,} of {whole:,}"]
        for name, (part, whole) in counts.items()
    ]
    return Table([Column("of the corpus"), Column("changes", is_number=True), Column("")], rows)


def _list_changes(part: Part, limit: int | None) -> Table:
    rows = [
        (
            message(change.kind, Style.DIM),
            exact(shorten_value(change.what)),
            _describe_value(change.old, Style.EXPECTED),
            _describe_value(change.new, Style.ACTUAL),
        )
        for change in part.changes[:limit]
    ]
    left = len(part.changes) - len(rows)
    left_out = f"{plural(left, 'more change')}, shown with -v" if left else ""
    return Table([Column(""), Column(""), Column("old"), Column("new")], rows, left_out)


def _describe_value(value: str | None, style: Style) -> Inline:
    return Span("-", Style.DIM) if value is None else message(shorten_value(value), style)


def _describe_cases(report: ChangeReport, *, verbose: bool) -> Iterator[Section]:
    """Describe one case per cause, or all that change if `verbose`, and then the cases that did not simply match."""
    results = report.report.results
    changed = [result for result in results if result.status in FAILING]
    if changed:
        causes = plural(len(report.examples), "cause")
        sides = Paragraph(message("In the cases, actual is new and expected is old.", Style.DIM))
        yield Section([sides], f"{plural(len(changed), 'case')} changed, {causes}")
    yield from _describe_causes(report, verbose=verbose)
    settled = tuple(result for result in results if result.status not in FAILING)
    yield from case_sections(replace(report.report, results=settled), verbose=verbose)


def _describe_causes(report: ChangeReport, *, verbose: bool) -> Iterator[Section]:
    results = report.report.results
    for index, example in enumerate(report.examples):
        details = case_details(results[example.index], verbose=verbose, more=list(_cause_fields(example)))
        is_drawn = verbose or index < _MAX_EXAMPLES
        yield Section([details if is_drawn else Only("markdown", [details])])
    if verbose:
        drawn = {example.index for example in report.examples}
        others = [result for index, result in enumerate(results) if result.status in FAILING and index not in drawn]
        yield from (Section([case_details(result, verbose=True)]) for result in others)
    elif report.examples[_MAX_EXAMPLES:]:
        names = list(_list_cases(report, report.examples[_MAX_EXAMPLES:]))
        yield Section([Only("table", [Names("other causes", "shown with -v", names)])])


def _cause_fields(example: Example) -> Iterator[tuple[str, Inline]]:
    if example.parts:
        yield "cause", Span(describe_cause(example))
    if example.others:
        count = plural(len(example.others), "more case")
        yield "also", Span(f"the same change in {count}: {list_names(example.others)}")


def _list_cases(report: ChangeReport, examples: Sequence[Example]) -> Iterator[str]:
    for example in examples:
        yield report.report.results[example.index].case.name
        yield from example.others
