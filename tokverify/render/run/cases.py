"""The sections on single cases: those that fail, and those that did not simply match."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tokverify.render.case_text import describe_place, headline, known_text
from tokverify.render.document import (
    Alignment,
    Block,
    Column,
    Details,
    Fields,
    Heading,
    Inline,
    Line,
    Names,
    Only,
    Section,
    Span,
    Style,
    Table,
    exact,
    message,
    shorten,
)
from tokverify.report.difference import Difference
from tokverify.report.known_difference import BaselineOutcome, subject_of
from tokverify.report.run import CaseResult, Report, Status, failing_differences, other_side
from tokverify.report.tokenizer_difference import Aspect
from tokverify.text.sequence import group_values
from tokverify.text.visible import code_points, visible
from tokverify.text.wording import encode_options, list_items, plural

_MAX_CODE_POINTS = 4
_MAX_DRAWN = 2
_MAX_CAUSES = 10
"""How many texts are shown if each has a cause of its own."""
_MAX_DECODED = 2
_BYTES_BEFORE, _BYTES_AFTER = 15, 35


def case_sections(report: Report, *, verbose: bool, heading: str = "failing case") -> Iterator[Section]:
    """Yield the sections on single cases; `heading` is what `markdown` calls those that fail."""
    matching = [result for result in report.results if result.status is Status.MATCH]
    if verbose and matching:
        columns = [Column("match"), Column("tokens", is_number=True), Column("text")]
        rows = [(message(each.case.name), f"{len(each.actual):,}", exact(each.case.text)) for each in matching]
        yield Section([Table(columns, rows)])
    failing = [result for result in report.results if result.fails]
    most = len(report.results) if verbose else _MAX_CAUSES if heading == "cause" else _MAX_DRAWN
    yield from _failing_sections(failing, heading, most, verbose=verbose)
    explained = [result for result in report.results if result.explained_by]
    # Where something fails, it is what people look for.
    drawn = most if verbose else int(not failing)
    yield from _failing_sections(explained, "explained case", drawn, verbose=verbose)
    yield from _decoding_sections(report, verbose=verbose)
    yield from _group_by_reason("known", ((known_text(r.known), r.case.name) for r in report.results if r.known))
    if report.baseline:
        yield from _baseline_sections(report.baseline)
    skipped = (result for result in report.results if result.status is Status.SKIPPED)
    yield from _group_by_reason("skipped", ((result.message or "", result.case.name) for result in skipped))
    notes = ((note, result.case.name) for result in matching for note in result.notes)
    yield from _group_by_reason("note", notes, fold=not verbose)


def _failing_sections(failing: Sequence[CaseResult], heading: str, most: int, *, verbose: bool) -> Iterator[Section]:
    """Yield a section for each failing or explained case; those beyond the first `most` are only named."""
    if failing:
        yield Section([Only("markdown", [Heading(plural(len(failing), heading))])])
    for result in failing[:most]:
        yield Section([case_details(result, verbose=verbose)])
    if failing[most:]:
        names = [result.case.name for result in failing[most:]]
        label = f"more {heading}s" if most else f"{heading}s"
        yield Section([Names(label, "shown with -v", names, fold=True)])


def case_details(result: CaseResult, *, verbose: bool, more: Sequence[Line] = ()) -> Details:
    """Describe a failing case in full; `more` are labeled lines to put first."""
    lines = [*more, *_case_lines(result, verbose=verbose)]
    blocks: list[Block] = [Fields(lines)]
    if result.difference:
        blocks.append(Alignment(result.difference, other_side(result), fold=not verbose))
    return Details(_title(result), blocks, hint=Span(headline(result)))


def _title(result: CaseResult) -> Inline:
    case = result.case
    place = f"  {case.file}:{case.line}" if case.file else ""
    status = message(f"{str(result.status).upper()} ", Style.NOTICE if result.explained_by else Style.BAD)
    return [status, message(result.case.name, Style.STRONG), message(place, Style.DIM)]


def _case_lines(result: CaseResult, *, verbose: bool) -> Iterator[Line]:
    case = result.case
    if result.status is Status.ERROR:
        yield "error", message(result.message or "")
    if case.note:
        yield "catches", message(case.note)
    yield "text", exact(case.text) if verbose else shorten(case.text)
    yield "options", encode_options(add_special=result.add_special, parse_special=result.parse_special)
    if result.explained_by:
        yield "because of", message(list_items(result.explained_by), Style.NOTICE)
    if result.status is Status.MISMATCH:
        yield from (("note", message(note, Style.NOTICE)) for note in (*result.notes, *result.refusals))
        if result.expect is not None:
            items = (f'"{visible(item)}"' if isinstance(item, str) else str(item) for item in result.expect)
            yield "expect", Span(f"[{', '.join(items)}]")
        if result.difference:
            yield from _divergence_lines(result.difference, other_side(result))


def _divergence_lines(difference: Difference, other: str) -> Iterator[Line]:
    first, around = difference.first, difference.excerpt
    following = around.expected or around.actual
    if not around.before and not following:
        yield "differs", describe_place(first)
        return
    place: list[str | Span] = ["at the start: "]
    if around.before:
        place = [f"{describe_place(first)}: ", exact(around.before, Style.DIM), " ▸ "]
    yield "differs", [*place, exact(following, Style.STRONG)]
    if around.actual == around.expected:
        yield "", _name_characters(following)
    else:
        yield "actual", _name_characters(around.actual)
        yield other, _name_characters(around.expected)


def _name_characters(text: str) -> str:
    return ", ".join(code_points(text[:_MAX_CODE_POINTS])) or "end of the text"


def _decoding_sections(report: Report, *, verbose: bool) -> Iterator[Section]:
    """Show what each side makes of the same ids."""
    decoded = [result for result in report.results if result.decode_difference]
    if not decoded:
        return
    count = len(decoded) if verbose else min(len(decoded), _MAX_DECODED)
    fails = any(difference.aspect is Aspect.DECODING for difference in failing_differences(report))
    effect = "" if fails else "; this does not change the verdict"
    title: list[str | Span] = [
        message("DECODING ", Style.WARNING),
        f"the two sides decode the ids of {plural(len(decoded), 'case')} differently{effect}",
    ]
    lines = [line for result in decoded[:count] for line in _decoding_lines(result, verbose)]
    if count < len(decoded):
        lines.append(("", message(f"... {len(decoded) - count:,} more, shown with -v ...", Style.DIM)))
    yield Section([Details(title, [Fields(lines)])])


def _decoding_lines(result: CaseResult, verbose: bool) -> Iterator[Line]:
    difference = result.decode_difference
    if difference is None:
        return
    yield "case", message(f"{result.case.name}, from byte {difference.offset:,} on", Style.STRONG)
    sides = (("actual", difference.actual, Style.ACTUAL), ("expected", difference.expected, Style.EXPECTED))
    for role, data, style in sides:
        yield role, exact(data, style) if verbose else _cut_around(data, difference.offset, style)


def _cut_around(data: bytes, offset: int, style: Style) -> Inline:
    start, end = max(0, offset - _BYTES_BEFORE), min(len(data), offset + _BYTES_AFTER)
    before = [message(f"... {plural(start, 'byte')} ... ", Style.DIM)] if start else []
    after = [message(f" ... {plural(len(data) - end, 'byte')} ...", Style.DIM)] if end < len(data) else []
    return [*before, exact(data[start:end], style), *after]


def _baseline_sections(baseline: BaselineOutcome) -> Iterator[Section]:
    fixed = "match now: take their entries out of the baseline, as --accept does"
    yield from _group_by_reason("fixed", ((fixed, subject_of(entry)) for entry in baseline.fixed))
    not_run = (("but in the baseline", subject_of(entry)) for entry in baseline.not_run)
    yield from _group_by_reason("not compared", not_run)


def _group_by_reason(label: str, cases: Iterable[tuple[str, str]], *, fold: bool = False) -> Iterator[Section]:
    for reason, names in group_values(cases).items():
        yield Section([Names(label, reason, names, fold=fold)])
