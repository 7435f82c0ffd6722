"""The `junit` format of `tokverify stream`: a suite for each side, a test for each failure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.render.ci.junit import document, not_passed, passed, suite
from tokverify.render.stream.verdict import describe_failure, failure_texts, side_facts, verdict
from tokverify.report.stream import StreamedSide, StreamFailure, StreamReport

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def render(report: StreamReport) -> str:
    """Write a report as JUnit XML; all texts that are streamed correctly are one test."""
    return document(_suites(report))


def _suites(report: StreamReport) -> Iterator[Element]:
    for streamed in report.sides:
        properties = {"source": streamed.side.source, "method": streamed.method, "verdict": verdict(report)}
        yield suite(streamed.side.name, properties, _tests(streamed))


def _tests(streamed: StreamedSide) -> Iterator[Element]:
    name, facts = streamed.side.name, side_facts(streamed)
    if streamed.texts == 0:
        yield not_passed(passed("all texts", name), "failure", "nothing streamed", facts[0], facts)
    else:
        yield passed("all other texts", name, "\n".join(facts))
    for failure in streamed.failures:
        yield _failure(failure, name)


def _failure(failure: StreamFailure, suite_name: str) -> Element:
    sentence = describe_failure(failure)
    lines = [f"{label}: {text}" for label, text in failure_texts(failure)]
    return not_passed(passed(sentence, suite_name), "failure", str(failure.fault), sentence, [sentence, *lines])
