"""The `markdown` format of `tokverify fuzz`: what was tried, and each cause folded away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.render.fuzz import shares, tried, verdict
from tokverify.render.markdown_text import document, mark, prose, table
from tokverify.render.run.markdown import case, compared, others
from tokverify.report.fuzz import fuzz_exit_code
from tokverify.report.run import Status
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.render import RenderOptions
    from tokverify.report.fuzz import FuzzReport


def render(fuzzed: FuzzReport, options: RenderOptions) -> str:
    """Write a run as Markdown, or as much of it as fits the limit."""
    heading = f"{mark(fuzz_exit_code(fuzzed))} tokverify fuzz: {prose(fuzzed.report.actual.name)}"
    return document(heading, verdict(fuzzed), _sections(fuzzed, options), options)


def _sections(fuzzed: FuzzReport, options: RenderOptions) -> Iterator[str]:
    yield from (f"{prose(note)}\n" for note in fuzzed.notes)
    yield from compared(fuzzed.report)
    yield from findings(fuzzed, verbose=options.verbose)
    yield f"Tried: {tried(fuzzed)}; coverage: {', '.join(shares(fuzzed))}.\n"
    yield _generators(fuzzed)


def findings(fuzzed: FuzzReport, *, verbose: bool) -> Iterator[str]:
    """Write what was found, and what was skipped."""
    failing = [result for result in fuzzed.report.results if result.status in {Status.MISMATCH, Status.ERROR}]
    if failing:
        yield f"### {plural(len(failing), 'cause')} found by fuzzing\n"
        yield from (case(result, verbose=verbose) for result in failing)
    yield from others(fuzzed.report, verbose=verbose)


def _generators(fuzzed: FuzzReport) -> str:
    rows = [
        (prose(name), f"{tally.strings:,}", f"{tally.failing:,}" if tally.failing else "")
        for name, tally in fuzzed.generators.items()
    ]
    return table(("generator", "strings", "fail"), rows, right=(1, 2))
