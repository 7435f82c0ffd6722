"""The `junit` format of `tokverify corpus`: a test for each cause that was found, and one for the corpus as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.render.ci.junit import document, not_passed, passed, suite
from tokverify.render.corpus.issue import example_lines
from tokverify.render.corpus.verdict import describe_cause, verdict
from tokverify.render.run.junit import properties_of
from tokverify.report.corpus import CauseCount, CorpusReport, corpus_exit_code
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_SUITE = "corpus"


def render(verified: CorpusReport) -> str:
    """Write a verified corpus as JUnit XML."""
    return document([suite(_SUITE, properties_of(verified.report, verdict(verified)), _tests(verified))])


def _tests(verified: CorpusReport) -> Iterator[Element]:
    accepted = verified.differing <= verified.max_differences
    yield from (_cause_test(cause, verified, accepted=accepted) for cause in verified.causes)
    yield _whole_test(verified)


def _cause_test(cause: CauseCount, verified: CorpusReport, *, accepted: bool) -> Element:
    kind = "skipped" if accepted else "failure"
    lines = list(example_lines(cause, verified))
    return not_passed(passed(cause.cause, _SUITE), kind, cause.cause, describe_cause(cause, verified), lines)


def _whole_test(verified: CorpusReport) -> Element:
    """Return a test for the corpus; without it, a report in which nothing differs would have no test."""
    test = passed("documents", _SUITE)
    summary = visible_message(verdict(verified))
    unreadable = [
        visible_message(f"{plural(group.count, 'document')}: {group.reason}; {', '.join(group.places)}")
        for group in verified.unreadable_groups
    ]
    code = corpus_exit_code(verified)
    if code == 0:
        return passed("documents", _SUITE, "\n".join([summary, *map(visible_message, verified.notes)]))
    kind, word = ("failure", "different") if code == 1 else ("error", "not compared")
    return not_passed(test, kind, word, summary, unreadable)
