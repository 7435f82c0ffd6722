"""Describe what `tokverify cases record` recorded."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.render.document import Document, Fields, Line, Names, Section, Style, message
from tokverify.render.draw_table import draw_table
from tokverify.render.options import RenderOptions
from tokverify.report.record import RecordedChange, Recording, count_recorded, recording_exit_code
from tokverify.text.sequence import group_values
from tokverify.text.wording import plural


def render(recording: Recording, options: RenderOptions) -> str:
    """Show whose ids were recorded, where, and which cases have none."""
    exit_code = recording_exit_code(recording)
    counts = {change: count_recorded(recording, change) for change in RecordedChange}
    shown = ", ".join(f"{count:,} {change}" for change, count in counts.items() if count)
    document = Document(
        title="tokverify cases record",
        verdict=f"{plural(len(recording.results), 'case')}: {shown}",
        exit_code=exit_code,
        sections=[Section([Fields(list(_lines(recording)))]), *_cases(recording)],
        verdict_style=Style.BAD if exit_code else Style.GOOD,
    )
    return draw_table(document, options)


def _lines(recording: Recording) -> Iterator[Line]:
    expected = recording.expected
    yield "ids of", message(f"{expected.name}, {expected.source}", Style.STRONG)
    yield "", message(f"why this one: {expected.reason}")
    if expected.caveat:
        yield "", message(f"caveat: {expected.caveat}", Style.CAVEAT)
    yield "expected of", message(recording.key, Style.STRONG)
    if not recording.names_model:
        unused = f"which is no name of {recording.actual.source}: a run on that file will not use these ids"
        yield "", message(unused, Style.CAVEAT)
    for path in recording.written:
        yield "written", message(path)
    if recording.untouched:
        yield "untouched", plural(len(recording.untouched), "file")


def _cases(recording: Recording) -> Iterator[Section]:
    missing = [result for result in recording.results if result.change is RecordedChange.NOT_RECORDED]
    for reason, names in group_values((result.message, result.case.name) for result in missing).items():
        yield Section([Names("not recorded", reason, names)])
    if differing := [result.case.name for result in recording.results if not result.model_agrees]:
        yield Section([Names("note", "the model itself gives other ids, so a run will fail", differing)])
