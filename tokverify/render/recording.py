"""What `tokverify cases record` has to say, for a person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from tokverify.render.layout import draw, labeled, words
from tokverify.report.record import RecordedChange, count_recorded, recording_exit_code
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tokverify.render.options import RenderOptions
    from tokverify.report.record import RecordedCase, Recording

_VERDICT_STYLES = {0: "bold green", 1: "bold red", 2: "bold red"}


def render(recording: Recording, options: RenderOptions) -> str:
    """Say whose ids were recorded, where, and for which cases they were not."""
    sections = [labeled(_lines(recording)), *_left_out(recording), *_notes(recording)]
    return draw([*sections, Text(_verdict(recording), _VERDICT_STYLES[recording_exit_code(recording)])], options)


def _lines(recording: Recording) -> Iterator[tuple[str, Text]]:
    expected = recording.expected
    yield "ids of", words(f"{expected.name}, {expected.source}", "bold")
    yield "", words(f"why this one: {expected.reason}")
    if expected.caveat:
        yield "", words(f"caveat: {expected.caveat}", "yellow")
    yield "expected of", words(f"{recording.key}", "bold")
    if not recording.names_model:
        yield "", words(f"which {recording.actual.source} is not called: a run on it will not go by them", "yellow")
    for path in recording.written:
        yield "written", words(str(path))
    if recording.untouched:
        yield "untouched", words(plural(len(recording.untouched), "file"))


def _left_out(recording: Recording) -> Iterator[RenderableType]:
    by_reason: dict[str, list[RecordedCase]] = {}
    for result in recording.results:
        if result.change is RecordedChange.NOT_RECORDED:
            by_reason.setdefault(result.message, []).append(result)
    for reason, results in by_reason.items():
        yield _cases("NOT RECORDED", reason, results)


def _notes(recording: Recording) -> Iterator[RenderableType]:
    differing = [result for result in recording.results if not result.model_agrees]
    if differing:
        yield _cases("NOTE", "the model itself gives other ids, so a run will fail", differing)


def _cases(label: str, reason: str, results: Iterable[RecordedCase]) -> RenderableType:
    names = [f"{result.case.suite}/{result.case.id}" for result in results]
    title = Text.assemble((f"{label} ", "bold yellow"), words(reason), overflow="fold")
    return Group(title, labeled([(plural(len(names), "case"), words(", ".join(names)))], indent=2))


def _verdict(recording: Recording) -> str:
    counts = {change: count_recorded(recording, change) for change in RecordedChange}
    shown = ", ".join(f"{count:,} {change}" for change, count in counts.items() if count)
    return f"{plural(len(recording.results), 'case')}: {shown}"
