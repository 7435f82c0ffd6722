"""The page of tried chat templates: what was found, and what both sides write, line by line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.chat.content import message_texts
from tokverify.chat.kind import KINDS
from tokverify.render.alignment import Fold
from tokverify.render.case_text import alignment_lines, shortened
from tokverify.render.chat import place, template_state, verdict
from tokverify.render.chat.text_difference import BOTH, text_lines
from tokverify.render.html.page import page, version_list
from tokverify.render.run.html import outcome, side_data
from tokverify.report.finding import Severity
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.chat.rendering import Rendering
    from tokverify.report.chat import ChatFinding, ChatReport, Rendered, Template

_MOST_CHARACTERS = 10_000
_OUTCOMES = {
    0: ("Passed", "nothing worse than a hint was found"),
    1: ("Failed", "an error or a warning was found"),
}


def render(report: ChatReport) -> str:
    """Write a page that holds the whole report."""
    context = {
        **outcome(
            f"{visible_message(report.actual.name)}: chat templates", verdict(report), report.exit_code, _OUTCOMES
        ),
        "reservations": "; ".join(f"not checked: {visible_message(reason)}" for reason in report.not_checked),
        "sides": list(_sides(report)),
        "versions": version_list(report.versions),
        "counts": [(severity.name, report.count(severity)) for severity in reversed(Severity)],
        "findings": list(map(_finding, report.findings)),
        "templates": [_template(template, report) for template in report.templates],
    }
    return page("chat.html.jinja", ["page.js", "audit.js"], context)


def _sides(report: ChatReport) -> Iterator[tuple[str, dict[str, object]]]:
    yield "actual", side_data(report.actual)
    if report.expected:
        yield "expected", side_data(report.expected)


def _finding(finding: ChatFinding) -> dict[str, object]:
    about = KINDS[finding.kind]
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
    sources = (template.actual, template.expected)
    differs = None not in sources and template.actual != template.expected
    return {
        "name": visible_message(template.name),
        "state": template_state(template, report),
        "source": _lines(template.actual or "", template.expected or "") if differs else [],
        "results": [_result(result, report) for result in report.results if result.template == template.name],
    }


def _result(result: Rendered, report: ChatReport) -> dict[str, object]:
    found = report.found_in(result)
    return {
        "id": visible_message(result.conversation.id),
        "place": visible_message(place(result)),
        "note": visible_message(result.conversation.note),
        "severity": max(found, key=lambda finding: finding.severity).severity.name if found else "",
        "kinds": list(dict.fromkeys(finding.kind for finding in found)),
        "messages": [
            (visible_message(role), shortened(text)) for role, text in message_texts(result.conversation.messages)
        ],
        "lines": _lines(result.actual.text or "", result.expected.text or "")
        if result.drifts and result.expected
        else [],
        "written": [] if result.drifts else list(_written(result)),
        "tokens": ", ".join(_tokens(result)),
        "ids": list(alignment_lines(result.difference, "expected")) if result.difference else [],
    }


def _written(result: Rendered) -> Iterator[tuple[str, str, str]]:
    """Yield who writes it, the text, and what went wrong instead."""
    role = "both" if result.expected == result.actual else "actual"
    yield role, *_text(result.actual)
    if result.expected and result.expected != result.actual:
        yield "expected", *_text(result.expected)


def _text(rendering: Rendering) -> tuple[str, str]:
    if rendering.text is None:
        return "", f"{'refuses' if rendering.deliberate else 'fails'}: {visible_message(rendering.error)}"
    return shortened(rendering.text, _MOST_CHARACTERS), "" if rendering.text else "nothing"


def _tokens(result: Rendered) -> Iterator[str]:
    for role, ids, refusal in (
        ("actual", result.actual_ids, result.actual_refusal),
        ("expected", result.expected_ids, result.expected_refusal),
    ):
        if ids is not None:
            yield f"{plural(len(ids), 'token')} in {role}"
        elif refusal:
            yield f"{role} cannot encode it: {visible_message(refusal)}"


def _lines(actual: str, expected: str) -> list[dict[str, object]]:
    """Return the lines of two texts: each with its mark and parts, or with how many are left out."""
    found: list[dict[str, object]] = []
    for line in text_lines(actual, expected):
        if isinstance(line, Fold):
            found.append({"fold": line.what})
        else:
            role = {"-": "actual", "+": "expected", BOTH: "both"}[line.mark]
            parts = [(part.shown, part.changed and line.is_marked) for part in line.parts]
            found.append({"mark": line.mark, "role": role, "parts": parts})
    return found
