"""The HTML page: the findings, and what both sides write, line by line."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.render.alignment import Fold
from tokverify.render.case_text import alignment_lines, shortened
from tokverify.render.chat.text_difference import BOTH, text_lines
from tokverify.render.chat.verdict import conversation_of, place, template_state, verdict
from tokverify.render.html.page import page, version_list
from tokverify.render.run.html import outcome, side_data
from tokverify.report.chat import (
    ChatFinding,
    ChatReport,
    RenderedConversation,
    Rendering,
    Template,
    TextDifference,
    chat_exit_code,
    count_findings,
    findings_for,
    message_texts,
)
from tokverify.report.chat_kind import CHAT_KINDS
from tokverify.report.finding import Severity
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

_MAX_CHARACTERS = 10_000
_OUTCOMES = {
    0: ("Passed", "nothing worse than INFO was found"),
    1: ("Failed", "an error or a warning was found"),
}


def render(report: ChatReport) -> str:
    """Render the whole report as one page."""
    context = {
        **outcome(
            f"{visible_message(report.actual.name)}: chat templates", verdict(report), chat_exit_code(report), _OUTCOMES
        ),
        "reservations": "; ".join(f"not checked: {visible_message(reason)}" for reason in report.not_checked),
        "sides": list(_sides(report)),
        "versions": version_list(report.versions),
        "counts": [(severity.name, count_findings(report, severity)) for severity in reversed(Severity)],
        "findings": list(map(_finding, report.findings)),
        "templates": [_template(template, report) for template in report.templates],
    }
    return page("chat/page.html.jinja", ["html/page.js", "html/findings.js"], context)


def _sides(report: ChatReport) -> Iterator[tuple[str, dict[str, object]]]:
    yield "actual", side_data(report.actual)
    if report.expected:
        yield "expected", side_data(report.expected)


def _finding(finding: ChatFinding) -> dict[str, object]:
    about = CHAT_KINDS[finding.kind]
    return {
        "severity": finding.severity.name,
        "kind": finding.kind,
        "template": visible_message(finding.template),
        "message": visible_message(finding.message),
        "conversations": list(map(visible_message, finding.conversations)),
        "summary": about.summary,
        "repair": about.repair if finding.severity > Severity.INFO else "",
    }


def _template(template: Template, report: ChatReport) -> dict[str, object]:
    return {
        "name": visible_message(template.name),
        "state": template_state(template, report),
        "source": _lines(template.actual, template.expected, template.difference),
        "results": [_result(result, report) for result in report.results if result.template == template.name],
    }


def _result(result: RenderedConversation, report: ChatReport) -> dict[str, object]:
    found = findings_for(report, result)
    conversation = conversation_of(result, report)
    expected = result.expected.text if result.expected else None
    return {
        "id": visible_message(conversation.id),
        "place": visible_message(place(conversation)),
        "note": visible_message(conversation.note),
        "severity": max(found, key=lambda finding: finding.severity).severity.name if found else "",
        "kinds": list(dict.fromkeys(finding.kind for finding in found)),
        "messages": [(visible_message(role), shortened(text)) for role, text in message_texts(conversation.messages)],
        "lines": _lines(result.actual.text, expected, result.text_difference),
        "written": [] if result.text_difference else list(_texts(result)),
        "tokens": ", ".join(_tokens(result)),
        "ids": list(alignment_lines(result.difference, "expected")) if result.difference else [],
    }


def _texts(result: RenderedConversation) -> Iterator[tuple[str, str, str]]:
    """Yield the side, its text, and the error if there is no text."""
    role = "both" if result.expected == result.actual else "actual"
    yield role, *_text(result.actual)
    if result.expected and result.expected != result.actual:
        yield "expected", *_text(result.expected)


def _text(rendering: Rendering) -> tuple[str, str]:
    if rendering.text is None:
        return "", f"{'refuses' if rendering.deliberate else 'fails'}: {visible_message(rendering.error)}"
    return shortened(rendering.text, _MAX_CHARACTERS), "" if rendering.text else "nothing"


def _tokens(result: RenderedConversation) -> Iterator[str]:
    for role, ids, refusal in (
        ("actual", result.actual_ids, result.actual_refusal),
        ("expected", result.expected_ids, result.expected_refusal),
    ):
        if ids is not None:
            yield f"{plural(len(ids), 'token')} in {role}"
        elif refusal:
            yield f"{role} cannot encode it: {visible_message(refusal)}"


def _lines(actual: str | None, expected: str | None, difference: TextDifference | None) -> list[dict[str, object]]:
    """Return the lines of two texts that differ: each with its mark and parts, or the number of lines left out."""
    found: list[dict[str, object]] = []
    for line in text_lines(actual or "", expected or "", difference) if difference else ():
        if isinstance(line, Fold):
            found.append({"fold": line.what})
        else:
            role = {"-": "actual", "+": "expected", BOTH: "both"}[line.mark]
            parts = [(part.shown, part.changed and line.is_marked) for part in line.parts]
            found.append({"mark": line.mark, "role": role, "parts": parts})
    return found
