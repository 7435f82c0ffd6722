"""What a fuzzing run tells a CI system: the texts that fail, one for each cause, at the model's file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tokverify.render.ci import CiReport
from tokverify.render.ci.issue import Check, Issue, Level
from tokverify.render.fuzz import verdict
from tokverify.render.run.issue import VOCABULARY_CHECK, case_issue, vocabulary_issues
from tokverify.report.fuzz import fuzz_exit_code
from tokverify.report.run import Status
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.report.fuzz import FuzzReport

FINDING_CHECKS = (
    Check("fuzz-mismatch", "mismatch", "A made-up text gets other ids than it should.", Level.ERROR),
    Check("fuzz-error", "error", "Only one side can encode a made-up text.", Level.ERROR),
    Check("fuzz-decoding", "decoding", "The ids of a made-up text are decoded to other bytes.", Level.ERROR),
    Check("fuzz-unlisted", "unlisted", "Made-up texts do not match, and their causes are not listed.", Level.NOTE),
)
"""What fuzzing can find."""

FUZZ_CHECKS = (*FINDING_CHECKS, VOCABULARY_CHECK)
"""What a report of `tokverify fuzz` can tell of."""


def to_ci_report(fuzzed: FuzzReport) -> CiReport:
    """Return what CI systems are told of a run."""
    return CiReport(
        issues=fuzz_issues(fuzzed),
        checks=FUZZ_CHECKS,
        verdict=verdict(fuzzed),
        exit_code=fuzz_exit_code(fuzzed),
        skipped=map(visible_message, fuzzed.notes),
    )


def fuzz_issues(fuzzed: FuzzReport) -> Iterator[Issue]:
    """Yield what was found, and that the vocabularies differ."""
    yield from finding_issues(fuzzed, fuzzed.report.actual.source)
    yield from vocabulary_issues(fuzzed.report)


def finding_issues(fuzzed: FuzzReport, path: str, more: Sequence[str] = ()) -> Iterator[Issue]:
    """Yield what was found; a made-up text stands in no file, so `path` is where to point.

    The lines in `more`, which have passed `visible`, are told of each text.
    """
    report = fuzzed.report
    failing = [result for result in report.results if result.status in {Status.MISMATCH, Status.ERROR}]
    yield from (case_issue(result, report, "fuzz", path=path, more=more) for result in failing)
    if fuzzed.unlisted:
        verb = "does" if fuzzed.unlisted == 1 else "do"
        yield Issue(
            check="fuzz-unlisted",
            # What is not listed can be skipped texts; it is all there is to tell of a failure where no cause is listed.
            level=Level.ERROR if fuzzed.failing and not failing else Level.NOTE,
            title="not listed",
            message=f"{plural(fuzzed.unlisted, 'text')} that {verb} not match: the cause is not listed; fuzz again once"
            " those listed are done away with",
            path=path,
            key=report.actual.name,
        )
