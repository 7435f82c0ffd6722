"""The `junit` format of `tokverify chat`: a suite for each template, a test for each conversation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tokverify.render.chat.text import finding_line, result_lines
from tokverify.render.chat.verdict import conversation_of, place, verdict
from tokverify.render.ci.junit import document, not_passed, passed, suite, uncompared_tests
from tokverify.report.chat import (
    ChatFinding,
    ChatReport,
    RenderedConversation,
    fails_unchecked,
    finding_fails,
    findings_for,
)
from tokverify.text.visible import visible_message

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_UNCHECKED = "not checked"


def render(report: ChatReport) -> str:
    """Write the findings as JUnit XML; those of severity INFO do not make a test fail."""
    return document(suites_of(report))


def suites_of(report: ChatReport) -> Iterator[Element]:
    """Yield a suite for each template, and one for what was not checked."""
    properties = _properties(report)
    if report.not_checked:
        tag = "failure" if fails_unchecked(report) else "skipped"
        yield suite(_UNCHECKED, properties, uncompared_tests(report.not_checked, _UNCHECKED, tag))
    for template in report.templates:
        results = [result for result in report.results if result.template == template.name]
        tests = [_result_test(result, report) for result in results]
        tests += [
            _finding_test(finding, report)
            for finding in report.findings
            if finding.template == template.name and not finding.conversations
        ]
        files = {conversation_of(result, report).file for result in results}
        yield suite(template.name, properties, tests, files.pop() if len(files) == 1 else "")


def _properties(report: ChatReport) -> Mapping[str, str]:
    return {
        "model": report.actual.source,
        "fingerprint": report.actual.fingerprint or "",
        "reference": report.expected.source if report.expected else "",
        "caveat": report.expected.caveat if report.expected else "",
        "not checked": "; ".join(report.not_checked),
        "verdict": verdict(report),
    }


def _result_test(result: RenderedConversation, report: ChatReport) -> Element:
    found = findings_for(report, result)
    lines = list(map(finding_line, found))
    cause = next((finding for finding in found if finding_fails(report, finding)), None)
    if cause is None:
        return passed(result.conversation, result.template, "\n".join(lines))
    found_at = place(conversation_of(result, report))
    where = [visible_message(found_at)] if found_at else []
    test = passed(result.conversation, result.template)
    return not_passed(test, "failure", cause.kind, finding_line(cause), [*where, *lines, *result_lines(result)])


def _finding_test(finding: ChatFinding, report: ChatReport) -> Element:
    """Return a test for a finding about a template as a whole."""
    line = finding_line(finding)
    if not finding_fails(report, finding):
        return passed(finding.kind, finding.template, line)
    return not_passed(passed(finding.kind, finding.template), "failure", finding.kind, line, [line])
