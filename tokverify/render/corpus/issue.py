"""A verified corpus for CI systems: an issue for each cause, and for each reason why something was not compared."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.render.case_text import alignment_lines, headline
from tokverify.render.ci import CiReport
from tokverify.render.ci.issue import Check, Issue, Level, join_lines
from tokverify.render.corpus.verdict import describe_cause, verdict
from tokverify.render.run.issue import VOCABULARY_CHECK, vocabulary_issues
from tokverify.render.run.junit import properties_of
from tokverify.report.corpus import CauseCount, CorpusReport, UnreadableGroup, corpus_exit_code
from tokverify.report.run_summary import other_side
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

CORPUS_CHECKS = (
    Check("corpus-difference", "difference", "The two sides encode documents to different ids.", Level.ERROR),
    Check("corpus-unreadable", "unreadable", "Documents could not be compared.", Level.ERROR),
    VOCABULARY_CHECK,
)
"""The kinds of issues in a report of `tokverify corpus`."""


def to_ci_report(verified: CorpusReport) -> CiReport:
    """Return what CI systems show of a verified corpus."""
    return CiReport(
        issues=corpus_issues(verified),
        checks=CORPUS_CHECKS,
        verdict=verdict(verified),
        exit_code=corpus_exit_code(verified),
        skipped=map(visible_message, verified.notes),
        properties=properties_of(verified.report, verdict(verified)),
    )


def corpus_issues(verified: CorpusReport) -> Iterator[Issue]:
    """Yield the issues, located at the model's file, because documents are rarely in the repository."""
    accepted = verified.differing <= verified.max_differences
    for cause in verified.causes:
        yield _cause_issue(cause, verified, Level.NOTE if accepted else Level.ERROR)
    for group in verified.unreadable_groups:
        yield _unreadable_issue(group, verified)
    yield from vocabulary_issues(verified.report)


def _cause_issue(cause: CauseCount, verified: CorpusReport, level: Level) -> Issue:
    return Issue(
        check="corpus-difference",
        level=level,
        title=f"difference: {cause.cause}",
        message=join_lines([describe_cause(cause, verified), *_example_lines(cause, verified)]),
        path=verified.report.actual.source,
        key=f"{verified.report.actual.name}\0{cause.cause}",
    )


def _example_lines(cause: CauseCount, verified: CorpusReport) -> Iterator[str]:
    """Yield the examples of a cause: where each was found, its text, what the judge says, and both tokenizations."""
    for example, result in zip(verified.examples, verified.report.results, strict=True):
        if example.case in cause.cases:
            judgment = f" ({visible_message(example.judgment)})" if example.judgment else ""
            yield f"{visible_message(example.place)}: {headline(result)}{judgment}"
            if result.difference:
                yield from alignment_lines(result.difference, other_side(result))


def _unreadable_issue(group: UnreadableGroup, verified: CorpusReport) -> Issue:
    reason = visible_message(group.reason)
    return Issue(
        check="corpus-unreadable",
        level=Level.ERROR,
        title="unreadable",
        message=join_lines([f"{plural(group.count, 'document')}: {reason}", *map(visible_message, group.places)]),
        path=verified.report.actual.source,
        key=f"{verified.report.actual.name}\0{reason}",
    )
