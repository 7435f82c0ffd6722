"""The `junit` format of `tokverify check`: the suites of all parts, and a test for each part as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.render.chat.junit import suites_of as chat_suites
from tokverify.render.check.verdict import part_verdict
from tokverify.render.ci.junit import document, not_passed, passed, suite
from tokverify.render.run.junit import suites_of as run_suites
from tokverify.report.check import CheckReport, ModelCheck, Part, part_exit_code
from tokverify.text.visible import visible_message

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_TAGS = {1: "failure", 2: "error"}


def render(report: CheckReport) -> str:
    """Write a check as JUnit XML; the findings of an audit make its one test fail."""
    return document(element for model in report.models for element in _suites(model))


def _suites(model: ModelCheck) -> Iterator[Element]:
    yield suite(f"check {model.name}", {"model": model.source}, [_part_test(model, part) for part in model.parts])
    if model.run:
        yield from run_suites(model.run)
    if model.chat:
        yield from chat_suites(model.chat)


def _part_test(model: ModelCheck, part: Part) -> Element:
    code = part_exit_code(model, part)
    verdict = visible_message(part_verdict(model, part))
    test = passed(part, model.name, "" if code else verdict)
    if code is None:
        return not_passed(passed(part, model.name), "skipped", part, verdict, [])
    return not_passed(test, _TAGS[code], part, verdict, [verdict, *_findings(model, part)]) if code else test


def _findings(model: ModelCheck, part: Part) -> list[str]:
    if part is not Part.AUDIT or model.audit is None:
        return []
    return [
        visible_message(f"{finding.severity.name} {finding.code} {finding.name}: {finding.message}")
        for finding in model.audit.findings
    ]
