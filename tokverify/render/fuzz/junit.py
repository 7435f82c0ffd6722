"""The `junit` format of `tokverify fuzz`: a test for each cause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tokverify.render.ci.issue import Level
from tokverify.render.ci.junit import document, not_passed, passed, suite
from tokverify.render.fuzz.issue import finding_issues
from tokverify.render.fuzz.verdict import verdict
from tokverify.render.run.junit import case_suites, properties_of, tokenizer_suites
from tokverify.report.fuzz import FuzzReport, count_compared
from tokverify.text.visible import visible_message

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_SUITE = "fuzz"


def render(fuzzed: FuzzReport) -> str:
    """Write a run as JUnit XML."""
    properties = properties_of(fuzzed.report, verdict(fuzzed))
    return document([*tokenizer_suites(fuzzed.report, properties), *fuzz_suites(fuzzed, properties)])


def fuzz_suites(fuzzed: FuzzReport, properties: Mapping[str, str]) -> Iterator[Element]:
    """Yield a suite of the causes, and one for the run as a whole."""
    yield from case_suites(fuzzed.report, properties)
    yield suite(_SUITE, properties, [_run(fuzzed)])


def _run(fuzzed: FuzzReport) -> Element:
    """Return a test for the run, so that every report has one.

    It fails if texts fail without a listed cause, and is an error if no text could be compared.
    """
    summary = visible_message(verdict(fuzzed))
    unlisted = [issue for issue in finding_issues(fuzzed, "") if issue.check == "fuzz-unlisted"]
    if any(issue.level is Level.ERROR for issue in unlisted):
        return not_passed(
            passed("texts", _SUITE), "failure", "not listed", summary, [issue.message for issue in unlisted]
        )
    if not count_compared(fuzzed):
        return not_passed(passed("texts", _SUITE), "error", "not compared", summary, map(visible_message, fuzzed.notes))
    return passed("texts", _SUITE, "\n".join([summary, *map(visible_message, fuzzed.notes)]))
