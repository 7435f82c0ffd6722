"""The `table` format of `tokverify fuzz`: what was tried, and each cause with its minimal text in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from tokverify.formats.case_section import case_sections
from tokverify.formats.fuzz import verdict
from tokverify.formats.heading import heading, vocabulary_section
from tokverify.formats.layout import draw, labeled, table, words
from tokverify.formats.verdict import plural
from tokverify.fuzzing.report import Stop

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from tokverify.formats import RenderOptions
    from tokverify.fuzzing.coverage import Share
    from tokverify.fuzzing.report import FuzzReport

_VERDICT_STYLES = {0: "bold green", 1: "bold red", 2: "bold yellow"}
_STOPS = {
    Stop.COUNT: "all that were asked for",
    Stop.TIME: "until the time was up",
    Stop.COVERAGE: "until the coverage was reached",
    Stop.INTERRUPTED: "until interrupted",
}


def render(fuzzed: FuzzReport, options: RenderOptions) -> str:
    """Write a run as tables; the last line is the verdict."""
    sections = [] if options.quiet else list(_sections(fuzzed, verbose=options.verbose))
    return draw([*sections, Text(verdict(fuzzed), _VERDICT_STYLES[fuzzed.exit_code])], options)


def _sections(fuzzed: FuzzReport, *, verbose: bool) -> Iterator[RenderableType]:
    yield heading(fuzzed.report, verbose=verbose)
    if fuzzed.notes:
        yield _notes(fuzzed)
    yield vocabulary_section(fuzzed.report.vocabulary, verbose=verbose)
    yield _tried(fuzzed)
    yield from case_sections(fuzzed.report, verbose=verbose)
    if fuzzed.notes:
        # Again, where whoever reads no more than the end sees it.
        yield _notes(fuzzed)


def _notes(fuzzed: FuzzReport) -> RenderableType:
    return labeled(("" if at else "note", words(note, "yellow")) for at, note in enumerate(fuzzed.notes))


def _tried(fuzzed: FuzzReport) -> RenderableType:
    lines = [("tried", Text(f"{plural(fuzzed.strings, 'string')}, {_STOPS[fuzzed.stop]}"))]
    lines.append(("coverage", Text(", ".join(_shares(fuzzed)))))
    shown = table(("generator", "left"), ("strings", "right"), ("fail", "right"))
    for name, (strings, failing) in fuzzed.by_generator.items():
        shown.add_row(words(name), f"{strings:,}", Text(f"{failing:,}", "red") if failing else Text("-", "dim"))
    return Group(labeled(lines), Text(), shown)


def _shares(fuzzed: FuzzReport) -> Iterator[str]:
    yield f"{percent(fuzzed.pieces)} of {plural(fuzzed.pieces.total, 'piece')}"
    if fuzzed.merges:
        yield f"{percent(fuzzed.merges)} of {plural(fuzzed.merges.total, 'merge')}"


def percent(share: Share) -> str:
    """Write a share in percent, rounded down: only everything is 100%."""
    return f"{int(share.ratio * 1000) / 10:.1f}%"
