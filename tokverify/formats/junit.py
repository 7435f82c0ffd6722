"""The `junit` format: XML as CI systems read it of test runners, one suite for each file of cases.

A report of another command is put together of the same elements.

It keeps to the elements and attributes of the schema of Jenkins' xUnit plugin (`junit-10.xsd`), which all know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from tokverify.formats.case_text import alignment_lines, description, headline, known_text, other_side, plain
from tokverify.formats.verdict import verdict
from tokverify.report import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tokverify.report import CaseResult, Report

_ELEMENTS = {Status.MISMATCH: "failure", Status.ERROR: "error", Status.KNOWN: "skipped", Status.SKIPPED: "skipped"}
_TAGS = (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))
_COUNTED = ("tests", "failures", "errors")


def render(report: Report) -> str:
    """Write a report as JUnit XML; a failure that a baseline accepts counts as skipped, as `xfail` does elsewhere."""
    return document(case_suites(report, properties_of(report, verdict(report))))


def document(suites: Iterable[Element]) -> str:
    """Write suites as a file."""
    suites = list(suites)
    counts = {name: str(sum(int(suite.get(name, "0")) for suite in suites)) for name in _COUNTED}
    root = Element("testsuites", {"name": "tokverify", **counts})
    root.extend(suites)
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def properties_of(report: Report, verdict: str) -> dict[str, str]:
    """Return what is told with each suite: who was compared, and what came of it."""
    return {
        "model": report.actual.source,
        "fingerprint": report.actual.fingerprint or "",
        "reference": report.expected.source,
        "caveat": report.expected.caveat,
        "verdict": verdict,
    }


def case_suites(report: Report, properties: Mapping[str, str]) -> Iterator[Element]:
    """Yield a suite for each file of cases."""
    for (file, name), results in _by_file(report.results).items():
        yield suite(name, properties, map(_case, results), file)


def suite(name: str, properties: Mapping[str, str], tests: Iterable[Element], file: str = "") -> Element:
    """Return a suite of tests."""
    tests = list(tests)
    counts = {"tests": len(tests), **{name: sum(test.find(tag) is not None for test in tests) for name, tag in _TAGS}}
    told = {"name": plain(name), **{name: str(count) for name, count in counts.items()}}
    made = Element("testsuite", told | ({"file": plain(file)} if file else {}))
    _add_properties(made, properties)
    made.extend(tests)
    return made


def passed(name: str, suite: str, told: str = "") -> Element:
    """Return a test that passed, with what it told; that has passed `visible`."""
    test = Element("testcase", {"name": plain(name), "classname": plain(suite)})
    if told:
        SubElement(test, "system-out").text = told
    return test


def not_passed(test: Element, tag: str, type: str, message: str, lines: Iterable[str]) -> Element:
    """Return a test with another outcome: `failure`, `error` or `skipped`; the texts have passed `visible`."""
    SubElement(test, tag, {"type": type, "message": message}).text = "\n".join(lines)
    return test


def _by_file(results: Iterable[CaseResult]) -> dict[tuple[str, str], list[CaseResult]]:
    suites: dict[tuple[str, str], list[CaseResult]] = {}
    for result in results:
        suites.setdefault((result.case.file, result.case.suite), []).append(result)
    return suites


def _add_properties(suite: Element, properties: Mapping[str, str]) -> None:
    parent = SubElement(suite, "properties")
    for name, value in properties.items():
        if value:
            SubElement(parent, "property", {"name": name, "value": plain(value)})


def _case(result: CaseResult) -> Element:
    case, status = result.case, result.status
    if status is Status.MATCH:
        return passed(case.id, case.suite, "\n".join(map(plain, result.notes)))
    message = f"known: {plain(known_text(result.known))}" if result.known else headline(result)
    return not_passed(passed(case.id, case.suite), _ELEMENTS[status], str(status), message, _body(result))


def _body(result: CaseResult) -> list[str]:
    place = [f"{plain(result.case.file)}:{result.case.line}"] if result.case.file else []
    lines = [*place, headline(result), *description(result)]
    return [*lines, *alignment_lines(result.difference, other_side(result))] if result.difference else lines
