"""Collect the causes of the outcome of each case, by which readers filter the cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from tokverify.render.case_text import known_text
from tokverify.report.diagnosis import Diagnosis
from tokverify.report.run import CaseResult, Report, Status, can_match
from tokverify.text.visible import visible_message

Causes: TypeAlias = "Mapping[str, Sequence[str]]"
"""Name of a case -> its causes."""


def causes(report: Report) -> Causes:
    """Return the causes of each case that did not simply match, by suite/id, as texts that have passed `visible`."""
    explained = _explained(report)
    found: dict[str, list[str]] = {}
    for result in report.results:
        own = [*explained.get(result.case.name, ()), *_own_causes(result)]
        if own:
            found[result.case.name] = own
    return found


def _own_causes(result: CaseResult) -> Iterator[str]:
    """Yield the causes that follow from the result of the case itself."""
    yield from (f"limit {code}" for code in result.explained_by)
    if result.known:
        yield f"known: {visible_message(known_text(result.known))}"
    elif result.status is Status.SKIPPED:
        yield f"skipped: {visible_message(result.message or '')}"
    elif result.status is Status.ERROR:
        yield "cannot be encoded"
    elif result.status is Status.MISMATCH and result.difference and result.actual == result.expected:
        yield "both sides agree, but not with the case"
    elif result.status is Status.MISMATCH and not can_match(result):
        yield "the reference does not agree with the case"
    if result.decode_difference or (result.status is Status.MISMATCH and not result.difference):
        yield "decoded differently"


def _explained(report: Report) -> dict[str, list[str]]:
    """Return the explanations of the diagnosis for each case that it tried to explain."""
    if not report.diagnosis:
        return {}
    explanations = [(visible_message(item.sentence), set(item.unexplained)) for item in report.diagnosis.explanations]
    found: dict[str, list[str]] = {}
    for name in _diagnosed(report, report.diagnosis):
        sentences = [sentence for sentence, unexplained in explanations if name not in unexplained]
        found[name] = sentences or ["no explanation found"]
    return found


def _diagnosed(report: Report, diagnosis: Diagnosis) -> list[str]:
    """Name the cases that the diagnosis tried to explain."""
    if diagnosis.decoding:
        return [result.case.name for result in report.results if result.decode_difference and not result.known]
    mismatches = [result for result in report.results if result.status is Status.MISMATCH]
    differing = [result.case.name for result in mismatches if result.actual != result.expected and can_match(result)]
    errors = [result.case.name for result in report.results if result.status is Status.ERROR]
    # subtle: the diagnosis includes only errors for which the reference has ids, and the report does not say which.
    return differing + errors if len(differing) + len(errors) == diagnosis.failing else differing
