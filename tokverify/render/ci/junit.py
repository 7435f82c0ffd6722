"""Elements of JUnit's XML, of which the `junit` format consists.

Only elements and attributes from the schema of Jenkins' xUnit plugin (`junit-10.xsd`) are used, as all CI systems know
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from tokverify.text.visible import visible_message

_TAGS = (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))
_COUNTED = ("tests", "failures", "errors")


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
