"""A checked log for CI systems: an issue for each cause, at its first example."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.render.canonical.verdict import verdict
from tokverify.render.case_text import alignment_lines, headline
from tokverify.render.ci import CiReport
from tokverify.render.ci.issue import Check, Issue, Level, join_lines
from tokverify.render.run.junit import properties_of
from tokverify.report.canonical import DEVIATIONS, CanonicalReport, DeviationCount, canonical_exit_code
from tokverify.report.run_summary import other_side
from tokverify.text.visible import visible_message
from tokverify.text.wording import percentage, plural

CANONICAL_CHECKS = (
    Check("canonical-deviation", "deviation", "Logged ids are not the encoding of their own text.", Level.ERROR),
)
"""The kinds of issues in a report of `tokverify canonical`."""


def to_ci_report(checked: CanonicalReport) -> CiReport:
    """Return what CI systems show of a checked log."""
    return CiReport(
        issues=(_issue(count, checked) for count in checked.causes),
        checks=CANONICAL_CHECKS,
        verdict=verdict(checked),
        exit_code=canonical_exit_code(checked),
        properties=properties_of(checked.report, verdict(checked)),
    )


def _describe_count(count: DeviationCount, checked: CanonicalReport) -> str:
    """Describe how many sequences a cause explains."""
    share = percentage(count.sequences, checked.sequences)
    return f"{plural(count.sequences, 'sequence')} ({share}): {DEVIATIONS[count.cause]}"


def _example_lines(count: DeviationCount, checked: CanonicalReport) -> Iterator[str]:
    """Yield the examples of a cause: the line of the log, the text, and both tokenizations."""
    for result in checked.report.results:
        if result.case.id in count.cases:
            yield f"{visible_message(result.case.file)}:{result.case.line}: {headline(result)}"
            if result.difference:
                yield from alignment_lines(result.difference, other_side(result))


def _issue(count: DeviationCount, checked: CanonicalReport) -> Issue:
    first = next((result.case for result in checked.report.results if result.case.id in count.cases), None)
    return Issue(
        check="canonical-deviation",
        level=Level.ERROR,
        title=f"deviation: {count.cause}",
        message=join_lines([_describe_count(count, checked), *_example_lines(count, checked)]),
        path=checked.report.expected.source,
        line=first.line if first else 1,
        key=f"{checked.report.expected.source}\0{count.cause}",
    )
