"""Write the issues of any report as JUnit XML: the `junit` format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tokverify.render.ci import CiReport
from tokverify.render.ci.issue import Issue, Level
from tokverify.render.ci.junit import document, not_passed, passed, suite, uncompared_tests
from tokverify.text.visible import visible_message

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def draw_junit(name: str, report: CiReport) -> str:
    """Write a suite `name` of everything that was found, beside the suites that the report has itself."""
    properties = {**report.properties, "verdict": report.verdict}
    return document([*report.suites(properties), suite(name, properties, _tests(name, report))])


def _tests(name: str, report: CiReport) -> Iterator[Element]:
    """Yield a test for each thing that was found, for each check that found nothing, and for the report as a whole."""
    by_title: dict[str, list[Issue]] = {}
    issues = [issue for issue in report.issues if issue.check not in report.tested]
    for issue in issues:
        by_title.setdefault(issue.title, []).append(issue)
    for title, found in by_title.items():
        yield _test(title, name, found, counts=report.exit_code != 0)
    left = set(report.evaluated) - {issue.check for issue in issues}
    yield from (passed(f"{check.id} {check.name}", name) for check in report.checks if check.id in left)
    yield from uncompared_tests(report.skipped, name, "skipped")
    yield _whole_test(name, report)


def _test(title: str, suite_name: str, found: Sequence[Issue], *, counts: bool) -> Element:
    """Return a test for issues that share a title: if the report fails, it fails for an error; a warning skips it."""
    lines = [line for issue in found for line in issue.message.split("\n")]
    test = passed(title, suite_name)
    failing = [issue for issue in found if issue.level is Level.ERROR and issue.accepted is None]
    if failing and counts:
        return not_passed(test, "failure", failing[0].check, failing[0].message.partition("\n")[0], lines)
    if all(issue.level is Level.NOTE and issue.accepted is None for issue in found):
        return passed(title, suite_name, "\n".join(lines))
    return not_passed(test, "skipped", found[0].check, found[0].accepted or found[0].message.partition("\n")[0], lines)


def _whole_test(name: str, report: CiReport) -> Element:
    """Return a test that has the outcome of the report, which may depend on more than errors."""
    verdict = visible_message(report.verdict)
    if not report.exit_code:
        return passed("verdict", name, verdict)
    tag = "failure" if report.exit_code == 1 else "error"
    return not_passed(passed("verdict", name), tag, "verdict", verdict, [verdict])
