"""The `junit` format of `tokverify diff`: a test for each part that changed, for each case, and for the corpus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.render.ci.junit import document, not_passed, passed, suite
from tokverify.render.diff import change_lines, effect, summary, verdict
from tokverify.render.fuzz.junit import fuzz_suites
from tokverify.render.run.junit import case_suites
from tokverify.text.visible import visible_message

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from tokverify.report.diff import ChangeReport, Effect

_PARTS, _CORPUS = "parts", "corpus"
_MOST_CHANGES = 100


def render(report: ChangeReport) -> str:
    """Write what changed as JUnit XML; changed parts that do not count are skipped tests."""
    return document(_suites(report))


def _suites(report: ChangeReport) -> Iterator[Element]:
    properties = {
        "old": report.old.source,
        "new": report.new.source,
        "sides": "actual is new, expected is old",
        "verdict": verdict(report),
    }
    yield suite(_PARTS, properties, _parts(report), report.file)
    yield from case_suites(report.report, properties)
    if report.fuzzed:
        yield from fuzz_suites(report.fuzzed, properties)
    if report.effect:
        yield suite(_CORPUS, properties, [_corpus(report.effect)])


def _parts(report: ChangeReport) -> Iterator[Element]:
    if not report.parts:
        yield passed("all that were compared", _PARTS, "no part differs")
    tag = "skipped" if report.behavior_only else "failure"
    for part in report.parts:
        yield not_passed(passed(part.name, _PARTS), tag, "changed", summary(part), change_lines(part, _MOST_CHANGES))
    for number, reason in enumerate(map(visible_message, report.not_compared), 1):
        yield not_passed(passed(f"not compared, {number}", _PARTS), "skipped", "not compared", reason, [reason])


def _corpus(found: Effect) -> Element:
    told = effect(found)
    if found.changed_lines:
        return not_passed(passed("ids", _CORPUS), "failure", "changed", told, [told])
    return passed("ids", _CORPUS, told)
