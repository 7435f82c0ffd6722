"""Write the issues of a report in the formats for CI systems: `github`, `gitlab`, `sarif` and `junit`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from tokverify.render.issue import Check, CiReport, Issue, Level
from tokverify.text.sequence import group_values
from tokverify.text.visible import visible_message

_SHOWN = 10
_COMMANDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}
# subtle: the runner also obeys `##[command]`, its older form, and that anywhere in a line.
_DATA = {"##[": "#\\x23[", "%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = {**_DATA, ":": "%3A", ",": "%2C"}
_SEVERITIES = {Level.ERROR: "major", Level.WARNING: "minor", Level.NOTE: "info"}
_VERSION = "2.1.0"
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def draw_github(report: CiReport) -> str:
    """Write an annotation for each issue, and one for all that are accepted.

    If GitHub would not show all errors, the verdict comes first, followed by the issues that belong to a line.
    """
    issues = sorted(report.issues, key=lambda issue: not issue.path)
    lines = [_annotation(issue) for issue in issues if issue.accepted is None]
    if sum(issue.level is Level.ERROR for issue in issues) > _SHOWN:
        verdict = f"{report.verdict}. GitHub shows only {_SHOWN} annotations per step; all of them are in the log"
        lines.insert(0, f"::error title=tokverify::{_escape(visible_message(verdict), _DATA)}")
    accepted = [f"{issue.title} ({issue.accepted})" for issue in issues if issue.accepted is not None]
    if accepted:
        message = _escape("\n".join(accepted), _DATA)
        lines.append(f"::notice title=tokverify%3A {len(accepted)} accepted::{message}")
    return "".join(f"{line}\n" for line in lines)


def _annotation(issue: Issue) -> str:
    place = {"file": visible_message(issue.path), "line": str(issue.line)} if issue.path else {}
    properties = {**place, "title": issue.title}
    listed = ",".join(f"{name}={_escape(value, _PROPERTY)}" for name, value in properties.items())
    return f"::{_COMMANDS[issue.level]} {listed}::{_escape(issue.message, _DATA)}"


def _escape(text: str, escapes: Mapping[str, str]) -> str:
    for character, replacement in escapes.items():
        text = text.replace(character, replacement)
    return text


def draw_gitlab(report: CiReport) -> str:
    """Write a code quality report."""
    return json.dumps(list(map(_entry, report.issues)), indent=2) + "\n"


def _entry(issue: Issue) -> dict[str, object]:
    return {
        "description": f"{issue.title}: {issue.message.partition(chr(10))[0]}",
        "check_name": issue.check,
        "fingerprint": issue.fingerprint,
        "severity": "info" if issue.accepted is not None else _SEVERITIES[issue.level],
        "location": {"path": visible_message(issue.path), "lines": {"begin": issue.line}},
    }


def draw_sarif(report: CiReport) -> str:
    """Write a SARIF log of one run."""
    from tokverify.version import __version__

    indexes = {check.id: index for index, check in enumerate(report.checks)}
    notifications = [{"level": "note", "message": _message(sentence)} for sentence in report.skipped]
    run = {
        "tool": {"driver": {"name": "tokverify", "version": __version__, "rules": list(map(_rule, report.checks))}},
        "invocations": [
            {
                "executionSuccessful": True,
                "exitCode": report.exit_code,
                "toolConfigurationNotifications": notifications,
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": [_result(issue, indexes) for issue in report.issues],
    }
    return json.dumps({"$schema": _SCHEMA, "version": _VERSION, "runs": [run]}, indent=2) + "\n"


def _rule(check: Check) -> dict[str, object]:
    rule: dict[str, object] = {
        "id": check.id,
        "name": check.name,
        "shortDescription": _message(check.summary),
        "defaultConfiguration": {"level": str(check.level)},
    }
    if check.manual:
        rule["help"] = {**_message(check.manual), "markdown": _braces(check.manual)}
    return rule


def _result(issue: Issue, indexes: dict[str, int]) -> dict[str, object]:
    location = {
        "artifactLocation": {"uri": _uri(issue.path)},
        "region": {"startLine": issue.line},
    }
    result: dict[str, object] = {
        "ruleId": issue.check,
        "ruleIndex": indexes[issue.check],
        "level": str(issue.level),
        "message": _message(f"{issue.title}: {issue.message}"),
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"tokverify/v1": issue.fingerprint},
    }
    if issue.accepted is not None:
        result["suppressions"] = [{"kind": "external", "justification": issue.accepted}]
    return result


def _message(text: str) -> dict[str, str]:
    # subtle: `[text](target)` is a link even in plain text, so a text that happens to look like one is escaped.
    return {"text": _braces(text.replace("](", "]\\x28"))}


def _braces(text: str) -> str:
    """Double the braces, which would mark the place of an argument."""
    return text.replace("{", "{{").replace("}", "}}")


def _uri(path: str) -> str:
    # subtle: a file's name may hold bytes that are not UTF-8, as lone surrogates.
    name = quote(path.encode("utf-8", "surrogateescape"))
    return f"file://{name}" if name.startswith("/") else name


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
    counts = {
        "tests": len(tests),
        **{name: sum(test.find(tag) is not None for test in tests) for name, tag in _TAGS},
    }
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
