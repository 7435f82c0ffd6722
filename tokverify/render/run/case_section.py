"""The body of the `table` format: each case that did not simply match, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from tokverify.render.alignment_table import alignment_table
from tokverify.render.case_text import known_text
from tokverify.render.layout import DIM, exact, exact_or_folded, labeled, table, words
from tokverify.render.run.decoding_section import decoding_section
from tokverify.report.run import Status
from tokverify.report.run_summary import other_side
from tokverify.text.visible import code_points, visible
from tokverify.text.wording import encode_options, listed, plural

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tokverify.cases.case import Expect
    from tokverify.report.difference import Difference
    from tokverify.report.run import BaselineOutcome, CaseResult, Report

_CODE_POINTS = 4
_INDENT = 2
_MOST_DRAWN = 100


def case_sections(report: Report, *, verbose: bool) -> Iterator[RenderableType]:
    """Yield what there is to say of single cases."""
    if verbose and report.count(Status.MATCH):
        yield _matches(report)
    failing = [result for result in report.results if result.status in {Status.MISMATCH, Status.ERROR}]
    drawn = len(failing) if verbose or len(failing) <= _MOST_DRAWN + 1 else _MOST_DRAWN
    for result in failing[:drawn]:
        yield _mismatch(result, verbose) if result.status is Status.MISMATCH else _error(result, verbose)
    yield from _by_reason("failing too", (("drawn with -v, and in -f json", r.name) for r in failing[drawn:]))
    if report.decode_differences:
        yield decoding_section(report, verbose=verbose)
    yield from _by_reason("known", ((known_text(r.known), r.name) for r in report.results if r.known))
    if report.baseline:
        yield from _baseline(report.baseline)
    skipped = [(r.message or "", r.name) for r in report.results if r.status is Status.SKIPPED]
    yield from _by_reason("skipped", skipped)
    noted = [(note, r.name) for r in report.results if r.status is Status.MATCH for note in r.notes]
    yield from _by_reason("note", noted, fold=not verbose)


def _matches(report: Report) -> RenderableType:
    shown = table(("match", "left"), ("tokens", "right"), ("text", "left"))
    for result in report.results:
        if result.status is Status.MATCH:
            shown.add_row(words(result.name), f"{len(result.actual):,}", exact(result.case.text))
    return shown


def _mismatch(result: CaseResult, verbose: bool) -> RenderableType:
    lines = [*_about(result, verbose), *(("note", words(note, "yellow")) for note in (*result.notes, *result.refusals))]
    if result.expect is not None:
        lines.append(("expect", _tokens(result.expect)))
    if result.difference is None:
        return Group(_title(result), labeled(lines, indent=_INDENT))
    other = other_side(result)
    lines += _first_divergence(result.difference, other)
    aligned = alignment_table(result.difference, other, fold=not verbose)
    return Group(_title(result), labeled(lines, indent=_INDENT), Padding(aligned, (1, 0, 0, _INDENT)))


def _tokens(expect: Expect) -> Text:
    shown = [f'"{visible(item)}"' if isinstance(item, str) else str(item) for item in expect]
    return Text(f"[{', '.join(shown)}]", overflow="fold")


def _error(result: CaseResult, verbose: bool) -> RenderableType:
    lines = [("error", words(result.message or "")), *_about(result, verbose)]
    return Group(_title(result), labeled(lines, indent=_INDENT))


def _title(result: CaseResult) -> Text:
    case = result.case
    place = f"  {case.file}:{case.line}" if case.file else ""
    status = Text(f"{str(result.status).upper()} ", "bold red")
    return Text.assemble(status, words(result.name, "bold"), words(place, DIM), overflow="fold")


def _about(result: CaseResult, verbose: bool) -> Iterator[tuple[str, Text]]:
    case = result.case
    if case.note:
        yield "catches", words(case.note)
    yield "text", exact_or_folded(case.text, fold=not verbose)
    yield "options", Text(encode_options(add_special=result.add_special, parse_special=result.parse_special))


def _first_divergence(difference: Difference, other: str) -> Iterator[tuple[str, Text]]:
    first, around = difference.first, difference.excerpt
    following = around.expected or around.actual
    if around.before:
        where = f"after {plural(first.token_index, 'token')}, {plural(first.byte_offset, 'byte')}: "
        place = Text.assemble(where, exact(around.before, DIM), " ▸ ")
    else:
        place = Text("at the start: ")
    yield "differs", Text.assemble(place, exact(following, "bold"), overflow="fold")
    if around.actual == around.expected:
        yield "", _code_points(following)
    else:
        yield "actual", _code_points(around.actual)
        yield other, _code_points(around.expected)


def _code_points(text: str) -> Text:
    names = code_points(text[:_CODE_POINTS])
    return Text(", ".join(names) if names else "end of the text", overflow="fold")


def _baseline(baseline: BaselineOutcome) -> Iterator[RenderableType]:
    fixed = "match now: take their entries out of the baseline, as --update-baseline does"
    yield from _by_reason("fixed", ((fixed, entry.case) for entry in baseline.fixed))
    yield from _by_reason("not compared", (("but in the baseline", entry.case) for entry in baseline.not_run))


def _by_reason(label: str, cases: Iterable[tuple[str, str]], *, fold: bool = False) -> Iterator[RenderableType]:
    grouped: dict[str, list[str]] = {}
    for reason, name in cases:
        grouped.setdefault(reason, []).append(name)
    for reason, names in grouped.items():
        title = Text.assemble((f"{label.upper()} ", "bold yellow"), words(reason), overflow="fold")
        shown = listed(names) if fold else ", ".join(names)
        lines = labeled([(plural(len(names), "case"), words(shown))], indent=_INDENT)
        yield Group(title, lines)
