"""The `markdown` format of `tokverify diff`, for a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.diff.example import examples
from tokverify.render.diff import alike, cut, effect, summary, verdict
from tokverify.render.fuzz import verdict as fuzz_verdict
from tokverify.render.fuzz.markdown import findings
from tokverify.render.markdown_text import cell_code, details, document, mark, prose, table
from tokverify.render.run.markdown import case, others, suites
from tokverify.report.run import Status
from tokverify.text.visible import visible, visible_message
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.diff.part import Part
    from tokverify.render import RenderOptions
    from tokverify.report.diff import ChangeReport

_EXAMPLES = 50


def render(report: ChangeReport, options: RenderOptions) -> str:
    """Write what changed as Markdown, or as much of it as fits the limit."""
    heading = f"{mark(report.exit_code)} {prose(report.old.source)} → {prose(report.new.source)}"
    return document(heading, verdict(report), _sections(report, options), options)


def _sections(report: ChangeReport, options: RenderOptions) -> Iterator[str]:
    for reason in report.not_compared:
        yield f"Not all is compared: {prose(reason)}\n"
    for part in report.parts:
        yield details(summary(part), _part(part, options))
    if report.effect:
        yield f"{prose(effect(report.effect))}\n"
    yield from _cases(report, verbose=options.verbose)
    if report.fuzzed:
        yield f"Fuzzed: {prose(fuzz_verdict(report.fuzzed))}\n"
        yield from findings(report.fuzzed, verbose=options.verbose)


def _part(part: Part, options: RenderOptions) -> str:
    shown = part.changes if options.verbose else part.changes[:_EXAMPLES]
    rows = [(prose(c.kind), cell_code(visible(cut(c.what))), _value(c.old), _value(c.new)) for c in shown]
    left = len(part.changes) - len(shown)
    return table(("", "", "old", "new"), rows) + (f"\nand {left:,} more\n" if left else "")


def _value(value: str | None) -> str:
    return "" if value is None else cell_code(visible_message(cut(value)))


def _cases(change: ChangeReport, *, verbose: bool) -> Iterator[str]:
    """Write one case for each cause, or with `verbose` all that change."""
    report, found = change.report, examples(change)
    yield suites(report)
    if found:
        changing = plural(report.count(Status.MISMATCH) + report.count(Status.ERROR), "case")
        yield f"### {changing} changed, for {plural(len(found), 'cause')}\n"
        yield "In the cases, actual is new, and expected is old.\n"
    for example in found:
        yield case(example.result, verbose=verbose, more=alike(example))
    if verbose and found:
        drawn = {example.result.name for example in found}
        changed = (r for r in report.results if r.status in {Status.MISMATCH, Status.ERROR} and r.name not in drawn)
        yield from (case(result, verbose=True) for result in changed)
    yield from others(report, verbose=verbose)
