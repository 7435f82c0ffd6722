"""The results of a fuzzing run for CI systems: one issue per cause, located at the model's file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tokverify.render.ci import CiReport
from tokverify.render.ci.issue import Check, Issue, Level
from tokverify.render.fuzz.verdict import verdict
from tokverify.render.run.issue import (
    TOKENIZER_CHECKS,
    UNCOMPARED_CHECK,
    case_issue,
    difference_issues,
    uncompared_issues,
    uncompared_notes,
)
from tokverify.render.run.junit import case_suites, properties_of, tokenizer_suites
from tokverify.report.fuzz import FuzzReport, fuzz_exit_code
from tokverify.report.run import Report, Status
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

CASE_CHECKS = (
    Check("fuzz-mismatch", "mismatch", "The two sides encode a generated text to different ids.", Level.ERROR),
    Check("fuzz-error", "error", "Only one side can encode a generated text.", Level.ERROR),
    Check(
        "fuzz-decoding", "decoding", "The two sides decode the ids of a generated text to different bytes.", Level.ERROR
    ),
)
"""The ways in which a generated text can fail."""

FINDING_CHECKS = (
    *CASE_CHECKS,
    Check("fuzz-unlisted", "unlisted", "Generated texts do not match, and their causes are not listed.", Level.NOTE),
)
"""The kinds of issues that fuzzing finds."""

FUZZ_CHECKS = (*FINDING_CHECKS, *TOKENIZER_CHECKS, UNCOMPARED_CHECK)
"""The kinds of issues in a report of `tokverify fuzz`."""


def to_ci_report(fuzzed: FuzzReport) -> CiReport:
    """Return what CI systems show of a run."""
    return CiReport(
        issues=fuzz_issues(fuzzed),
        checks=FUZZ_CHECKS,
        verdict=verdict(fuzzed),
        exit_code=fuzz_exit_code(fuzzed),
        skipped=[*uncompared_notes(fuzzed.report), *map(visible_message, fuzzed.notes)],
        properties=properties_of(fuzzed.report, verdict(fuzzed)),
        suites=partial(_suites, fuzzed.report),
        tested={check.id for check in (*CASE_CHECKS, *TOKENIZER_CHECKS, UNCOMPARED_CHECK)},
    )


def _suites(report: Report, properties: Mapping[str, str]) -> Iterator[Element]:
    """Yield a suite on how the tokenizers differ, and a suite with a test for each cause."""
    yield from tokenizer_suites(report, properties)
    yield from case_suites(report, properties)


def fuzz_issues(fuzzed: FuzzReport) -> Iterator[Issue]:
    """Yield the findings, how the tokenizers differ, and what was not compared if that makes the run fail."""
    yield from finding_issues(fuzzed, fuzzed.report.actual.source)
    yield from difference_issues(fuzzed.report)
    if fuzzed.report.fails_uncompared:
        yield from uncompared_issues(fuzzed.report)


def finding_issues(fuzzed: FuzzReport, path: str, more: Sequence[str] = ()) -> Iterator[Issue]:
    """Yield the findings, located at `path`, as generated texts are in no file.

    The lines in `more`, which have passed `visible`, are added to each.
    """
    report = fuzzed.report
    failing = [result for result in report.results if result.status in {Status.MISMATCH, Status.ERROR}]
    yield from (case_issue(result, report, "fuzz", path=path, more=more) for result in failing)
    if fuzzed.unlisted:
        verb = "does" if fuzzed.unlisted == 1 else "do"
        yield Issue(
            check="fuzz-unlisted",
            # Unlisted texts may have been skipped; without listed causes, they are the only trace of a failure.
            level=Level.ERROR if fuzzed.failing and not failing else Level.NOTE,
            title="not listed",
            message=f"{plural(fuzzed.unlisted, 'text')} that {verb} not match: the cause is not listed;"
            " fix the listed causes, then fuzz again",
            path=path,
            key=report.actual.name,
        )
