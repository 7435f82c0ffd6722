"""The `table` format of `tokverify fuzz`: what was tried, and each cause with its minimal text in full."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from tokverify.render.fuzz import shares, tried, verdict
from tokverify.render.layout import draw, labeled, table, words
from tokverify.render.run.case_section import case_sections
from tokverify.render.run.heading import heading, vocabulary_section
from tokverify.report.fuzz import fuzz_exit_code

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tokverify.render import RenderOptions
    from tokverify.report.fuzz import FuzzReport

_VERDICT_STYLES = {0: "bold green", 1: "bold red"}


def render(fuzzed: FuzzReport, options: RenderOptions) -> str:
    """Write a run as tables; the last line is the verdict."""
    sections = [] if options.quiet else list(_sections(fuzzed, verbose=options.verbose))
    return draw(
        [*sections, words(verdict(fuzzed), _VERDICT_STYLES.get(fuzz_exit_code(fuzzed), "bold yellow"))], options
    )


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
    lines = [("tried", Text(tried(fuzzed))), ("coverage", Text(", ".join(shares(fuzzed))))]
    shown = table(("generator", "left"), ("strings", "right"), ("fail", "right"))
    for name, tally in fuzzed.generators.items():
        failing = Text(f"{tally.failing:,}", "red") if tally.failing else Text("-", "dim")
        shown.add_row(words(name), f"{tally.strings:,}", failing)
    return Group(labeled(lines), Text(), shown)
