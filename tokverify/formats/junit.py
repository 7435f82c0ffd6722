"""The `junit` format: XML as CI systems read it of test runners, one suite for each file of cases.

It keeps to the elements and attributes of the schema of Jenkins' xUnit plugin (`junit-10.xsd`), which all know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from tokverify.formats.case_text import alignment_lines, description, headline, known_text, other_side, plain
from tokverify.formats.verdict import verdict
from tokverify.report import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tokverify.report import CaseResult, Report

_ELEMENTS = {Status.MISMATCH: "failure", Status.ERROR: "error", Status.KNOWN: "skipped", Status.SKIPPED: "skipped"}


def render(report: Report) -> str:
    """Write a report as JUnit XML; a failure that a baseline accepts counts as skipped, as `xfail` does elsewhere."""
    root = Element("testsuites", {"name": "tokverify", **_counts(report.results)})
    properties = {
        "model": report.actual.source,
        "fingerprint": report.actual.fingerprint or "",
        "reference": report.expected.source,
        "caveat": report.expected.caveat,
        "verdict": verdict(report),
    }
    for (file, name), results in _by_file(report.results).items():
        skipped = str(sum(_ELEMENTS.get(result.status) == "skipped" for result in results))
        counts = {**_counts(results), "skipped": skipped}
        suite = SubElement(
            root, "testsuite", {"name": plain(name), **counts, **({"file": plain(file)} if file else {})}
        )
        _add_properties(suite, properties)
        for result in results:
            _add_case(suite, result)
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _counts(results: Iterable[CaseResult]) -> dict[str, str]:
    statuses = [result.status for result in results]
    counts = {
        "tests": len(statuses),
        "failures": statuses.count(Status.MISMATCH),
        "errors": statuses.count(Status.ERROR),
    }
    return {name: str(count) for name, count in counts.items()}


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


def _add_case(suite: Element, result: CaseResult) -> None:
    case = SubElement(suite, "testcase", {"name": plain(result.case.id), "classname": plain(result.case.suite)})
    if result.status is Status.MATCH:
        if result.notes:
            SubElement(case, "system-out").text = "\n".join(map(plain, result.notes))
        return
    message = f"known: {plain(known_text(result.known))}" if result.known else headline(result)
    outcome = SubElement(case, _ELEMENTS[result.status], {"type": str(result.status), "message": message})
    outcome.text = "\n".join(_body(result))


def _body(result: CaseResult) -> list[str]:
    place = [f"{plain(result.case.file)}:{result.case.line}"] if result.case.file else []
    lines = [*place, headline(result), *description(result)]
    return [*lines, *alignment_lines(result.difference, other_side(result))] if result.difference else lines
