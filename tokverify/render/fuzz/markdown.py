"""Write what a fuzzing run found as Markdown, for a report of `tokverify diff`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.render.run.markdown import case, others
from tokverify.report.run import Status
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.report.fuzz import FuzzReport


def findings(fuzzed: FuzzReport, *, verbose: bool) -> Iterator[str]:
    """Write what was found, and what was skipped."""
    failing = [result for result in fuzzed.report.results if result.status in {Status.MISMATCH, Status.ERROR}]
    if failing:
        yield f"### {plural(len(failing), 'cause')} found by fuzzing\n"
        yield from (case(result, verbose=verbose) for result in failing)
    yield from others(fuzzed.report, verbose=verbose)
