"""Describe a report of `tokverify stream` for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.render.document import Document, Fields, Inline, Item, Items, Section, Span, Style, message
from tokverify.render.run.sections import side_lines
from tokverify.render.stream.verdict import describe_failure, failure_texts, side_facts, verdict
from tokverify.report.stream import StreamedSide, StreamFailure, StreamReport, stream_exit_code
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.render.options import RenderOptions

_OUTCOMES = {
    0: ("Passed", "all texts decoded id by id equal those decoded at once"),
    1: ("Failed", "a text decoded id by id differs from the text decoded at once"),
    2: ("Nothing streamed", "some side could not stream any text"),
}
_SHOWN = 10


def describe(report: StreamReport, options: RenderOptions) -> Document:
    """Describe a report; with `verbose`, every failure."""
    return Document(
        title=["tokverify stream: ", message(report.sides[0].side.name)],
        verdict=verdict(report),
        exit_code=stream_exit_code(report),
        sections=_describe_sides(report, verbose=options.verbose),
        outcome=_OUTCOMES[stream_exit_code(report)],
        options=report.options,
        versions=report.versions,
    )


def _describe_sides(report: StreamReport, *, verbose: bool) -> Iterator[Section]:
    for role, streamed in zip(("model", "reference"), report.sides, strict=False):
        lines = [*side_lines(role, streamed.side, verbose=verbose), *(("", line) for line in side_facts(streamed))]
        yield Section([Fields(lines)])
        if streamed.failures:
            yield Section(
                [_list_failures(streamed, verbose=verbose)], f"Failures: {visible_message(streamed.side.name)}"
            )


def _list_failures(streamed: StreamedSide, *, verbose: bool) -> Items:
    shown = streamed.failures if verbose else streamed.failures[:_SHOWN]
    left_out = len(streamed.failures) - len(shown)
    note = f"{plural(left_out, 'more failure')}, shown with -v" if left_out else ""
    return Items([_describe_failure(failure) for failure in shown], note)


def _describe_failure(failure: StreamFailure) -> Item:
    lines: list[Inline] = [Span(describe_failure(failure), Style.STRONG)]
    lines += [[f"{label}: ", Span(text, is_code=True)] for label, text in failure_texts(failure)]
    return Item(lines)
