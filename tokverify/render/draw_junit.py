"""Write the issues of any report as JUnit XML: the `junit` format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from tokverify.render.issue import CiReport, Issue, Level
from tokverify.text.sequence import group_values
from tokverify.text.visible import visible_message

_TAGS = (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))
_COUNTED = ("tests", "failures", "errors")


def draw_junit(name: str, report: CiReport) -> str:
    """Write a suite `name` of everything that was found, beside the suites that the report has itself."""
    properties = {**report.properties, "verdict": report.verdict}
    return document([*report.suites(properties), suite(name, properties, _tests(name, report))])


def _tests(name: str, report: CiReport) -> Iterator[Element]:
    """Yield a test for each thing that was found, for each check that found nothing, and for the report as a whole."""
    issues = [issue for issue in report.issues if issue.check not in report.tested]
    for title, found in group_values((issue.title, issue) for issue in issues).items():
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


def document(suites: Iterable[Element]) -> str:
    """Write a file that holds test suites."""
    suites = list(suites)
    counts = {name: str(sum(int(suite.get(name, "0")) for suite in suites)) for name in _COUNTED}
    root = Element("testsuites", {"name": "tokverify", **counts})
    root.extend(suites)
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def suite(name: str, properties: Mapping[str, str], tests: Iterable[Element], file: str = "") -> Element:
    """Return a suite of tests."""
    tests = list(tests)
    counts = {"tests": len(tests), **{name: sum(test.find(tag) is not None for test in tests) for name, tag in _TAGS}}
    attributes = {"name": visible_message(name), **{name: str(count) for name, count in counts.items()}}
    made = Element("testsuite", attributes | ({"file": visible_message(file)} if file else {}))
    _add_properties(made, properties)
    made.extend(tests)
    return made


def passed(name: str, suite: str, output: str = "") -> Element:
    """Return a test that passed, with its output, which has passed `visible`."""
    test = Element("testcase", {"name": visible_message(name), "classname": visible_message(suite)})
    if output:
        SubElement(test, "system-out").text = output
    return test


def not_passed(test: Element, tag: str, type: str, message: str, lines: Iterable[str]) -> Element:
    """Return a test with another outcome: `failure`, `error` or `skipped`; the texts have passed `visible`."""
    SubElement(test, tag, {"type": type, "message": message}).text = "\n".join(lines)
    return test


def uncompared_tests(reasons: Iterable[str], suite: str, tag: str) -> Iterator[Element]:
    """Yield a test for each reason why something was not compared; the reasons have not passed `visible` yet."""
    for number, reason in enumerate(map(visible_message, reasons), 1):
        yield not_passed(passed(f"not compared, {number}", suite), tag, "not compared", reason, [reason])


def _add_properties(suite: Element, properties: Mapping[str, str]) -> None:
    parent = SubElement(suite, "properties")
    for name, value in properties.items():
        if value:
            SubElement(parent, "property", {"name": name, "value": visible_message(value)})
