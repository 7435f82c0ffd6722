"""The `table` format of `tokverify diff`: what changed in the parts, and then what that changes for texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from tokverify.diff.example import examples
from tokverify.render.diff import cut, effect, names, reason, summary, verdict
from tokverify.render.fuzz import verdict as fuzz_verdict
from tokverify.render.layout import ACTUAL, DIM, EXPECTED, draw, exact, labeled, table, words
from tokverify.render.run.case_section import case_sections
from tokverify.render.run.heading import suites_section
from tokverify.report.run import Status
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tokverify.diff.example import Example
    from tokverify.diff.part import Part
    from tokverify.render import RenderOptions
    from tokverify.report.diff import ChangeReport
    from tokverify.report.run import Side

_EXAMPLES = 10
_INDENT = 2


def render(report: ChangeReport, options: RenderOptions) -> str:
    """Write what changed; the last line is the verdict."""
    sections = [] if options.quiet else list(_sections(report, verbose=options.verbose))
    return draw([*sections, words(verdict(report), "bold red" if report.exit_code else "bold green")], options)


def _sections(report: ChangeReport, *, verbose: bool) -> Iterator[RenderableType]:
    yield labeled([*_side("old", report.old), *_side("new", report.new)])
    if report.not_compared:
        lines = [("", words(reason)) for reason in report.not_compared]
        yield Group(Text("NOT ALL IS COMPARED", "bold yellow"), labeled(lines, indent=_INDENT))
    for part in report.parts:
        yield _part(part, None if verbose else _EXAMPLES)
    yield suites_section(report.report)
    yield Text("In the cases, actual is new, and expected is old.", DIM)
    if verbose:
        yield from case_sections(report.report, verbose=True)
    else:
        yield from _by_cause(report)
    if report.fuzzed:
        yield labeled([("fuzzed", words(fuzz_verdict(report.fuzzed)))])
        yield from case_sections(report.fuzzed.report, verbose=verbose)
    if report.effect:
        yield labeled([("corpus", words(effect(report.effect)))])


def _side(role: str, side: Side) -> Iterator[tuple[str, Text]]:
    yield role, Text.assemble(words(side.source, "bold"), words(f"  encoded by {_engine(side)}", DIM), overflow="fold")
    if side.fingerprint:
        yield "", Text(f"fingerprint {side.fingerprint}", DIM)


def _engine(side: Side) -> str:
    return "tokverify, as llama.cpp would" if side.family else side.name


def _by_cause(change: ChangeReport) -> Iterator[RenderableType]:
    """Yield one case for each cause; the others by name."""
    report, found = change.report, examples(change)
    drawn = tuple(example.result for example in found[:_EXAMPLES])
    alike = [name for example in found[:_EXAMPLES] for name in example.alike]
    left = [name for example in found[_EXAMPLES:] for name in (example.result.name, *example.alike)]
    settled = tuple(result for result in report.results if result.status not in {Status.MISMATCH, Status.ERROR})
    if reasons := [("" if index else "why", _reason(example)) for index, example in enumerate(_with_reason(found))]:
        yield labeled(reasons)
    yield from case_sections(replace(report, results=drawn + settled), verbose=False)
    for label, cases in (("the same causes", alike), ("other causes", left)):
        if cases:
            yield labeled([(label, words(f"{plural(len(cases), 'case')}, drawn with -v: {names(cases)}", DIM))])


def _with_reason(found: Sequence[Example]) -> list[Example]:
    return [example for example in found[:_EXAMPLES] if example.parts]


def _reason(example: Example) -> Text:
    cases = plural(1 + len(example.alike), "case")
    return words(f"{cases}, of which {example.result.name} is drawn: {reason(example)}")


def _part(part: Part, most: int | None) -> RenderableType:
    shown = table(("", "left"), ("", "left"), ("old", "left"), ("new", "left"))
    for change in part.changes[:most]:
        row = exact(cut(change.what)), _value(change.old, EXPECTED), _value(change.new, ACTUAL)
        shown.add_row(words(change.kind, DIM), *row)
    left = len(part.changes) - len(part.changes[:most])
    more = [Text(f"  and {plural(left, 'more change')}; -v shows all", DIM)] if left else []
    return Group(Text(summary(part).upper(), "bold"), shown, *more)


def _value(value: str | None, style: str) -> Text:
    if value is None:
        return Text("-", DIM)
    return words(cut(value), style)
