"""Write the page of a check: the outcome of each part, and what the parts found, in a line each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.render.case_text import headline
from tokverify.render.check.verdict import part_verdict, part_word, verdict
from tokverify.render.html.page import page, version_list
from tokverify.render.run.differences import effect_of
from tokverify.render.run.html import diagnosis_data, side_data
from tokverify.report.check import Part, check_exit_code, part_exit_code
from tokverify.report.run import Side
from tokverify.text.visible import visible_message

if TYPE_CHECKING:
    from tokverify.report.check import CheckReport, ModelCheck

    _Line = tuple[str, str, str]

_OUTCOMES = {
    0: ("Passed", "everything that was checked agrees or is accepted"),
    1: ("Failed", "a part of the check fails"),
    2: ("Not checked", "a part of the check could not be performed"),
}
_MAX_OPEN_FINDINGS = 20
_BADGES = {0: "match", 1: "mismatch", 2: "error", None: "skipped"}


def render(report: CheckReport) -> str:
    """Write a page that holds the whole check."""
    exit_code = check_exit_code(report)
    outcome, meaning = _OUTCOMES[exit_code]
    context = {
        "title": f"tokverify check: {outcome.lower()}",
        "outcome": outcome,
        "exit_code": exit_code,
        "exit_meaning": meaning,
        "verdict": visible_message(verdict(report)),
        "reservations": "",
        "sides": [],
        "versions": version_list(report.versions),
        "parts": [_describe_part(model, part) for model in report.models for part in model.parts],
        "models": [
            {"name": visible_message(model.name), "sides": list(_describe_sides(model))} for model in report.models
        ],
        "most_open": _MAX_OPEN_FINDINGS,
    }
    return page("check/page.html.jinja", ["html/page.js"], context)


def _describe_part(model: ModelCheck, part: Part) -> dict[str, object]:
    return {
        "model": visible_message(model.name),
        "name": str(part),
        "word": part_word(model, part),
        "badge": _BADGES[part_exit_code(model, part)],
        "verdict": visible_message(part_verdict(model, part)),
        "findings": list(_list_findings(model, part)),
        "explanations": _explain(model) if part is Part.RUN else [],
    }


def _explain(model: ModelCheck) -> object:
    """Return what makes the failing cases match, with the repair."""
    diagnosis = model.run.diagnosis if model.run else None
    return diagnosis_data(diagnosis)["explanations"] if diagnosis else []


def _describe_sides(model: ModelCheck) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield what was compared; only the file if the tokenizers were not."""
    if model.run:
        yield "actual", side_data(model.run.actual)
        yield "expected", side_data(model.run.expected)
    else:
        yield "model", side_data(Side(model.source, model.source))


def _list_findings(model: ModelCheck, part: Part) -> Iterator[_Line]:
    """Yield what a part found: the class of its badge, a title and a message, which have passed `visible`."""
    if part is Part.RUN and model.run:
        for difference in model.run.differences:
            title = f"{difference.aspect} ({effect_of(difference, model.run)}):"
            yield difference.severity.name, title, visible_message(difference.message)
        for result in model.run.results:
            if result.fails:
                yield str(result.status), visible_message(result.case.name), headline(result)
    if part is Part.AUDIT and model.audit:
        for finding in model.audit.findings:
            yield finding.severity.name, f"{finding.code} {finding.name}", visible_message(finding.message)
    if part is Part.CHAT and model.chat:
        for found in model.chat.findings:
            yield found.severity.name, visible_message(found.kind), visible_message(found.message)
