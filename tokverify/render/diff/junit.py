"""Write a comparison as JUnit XML: a test for each part that changed, for each case, and for the corpus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.render.ci.junit import document, not_passed, passed, suite, uncompared_tests
from tokverify.render.diff.consequence import consequence_lines, counted_consequences
from tokverify.render.diff.verdict import change_lines, summarize_effect, summarize_part, verdict
from tokverify.render.fuzz.junit import fuzz_suites
from tokverify.render.run.junit import case_suites
from tokverify.report.consequence import Outcome
from tokverify.report.diff import ChangeReport, Effect, new_side, old_side

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_CONSEQUENCES, _PARTS, _CORPUS = "consequences", "parts", "corpus"
_MAX_CHANGES = 100


def render(report: ChangeReport) -> str:
    """Write a comparison as JUnit XML; changed parts that are accepted are skipped tests."""
    return document(_suites(report))


def _suites(report: ChangeReport) -> Iterator[Element]:
    properties = {
        "old": old_side(report).source,
        "new": new_side(report).source,
        "sides": "actual is new, expected is old",
        "verdict": verdict(report),
    }
    if report.breaking:
        yield suite(_CONSEQUENCES, properties, _consequences(report), report.file)
    yield suite(_PARTS, properties, _parts(report), report.file)
    yield from case_suites(report.report, properties)
    if report.fuzzed:
        yield from fuzz_suites(report.fuzzed, properties)
    if report.effect:
        yield suite(_CORPUS, properties, [_corpus(report.effect)])


def _consequences(report: ChangeReport) -> Iterator[Element]:
    for consequence in counted_consequences(report):
        lines = consequence_lines(consequence)
        if consequence.outcome is Outcome.VALID:
            yield passed(str(consequence.level), _CONSEQUENCES, lines[0])
        else:
            test = passed(str(consequence.level), _CONSEQUENCES)
            yield not_passed(test, "failure", str(consequence.outcome), lines[0], lines)


def _parts(report: ChangeReport) -> Iterator[Element]:
    if not report.parts:
        yield passed("all compared parts", _PARTS, "no part differs")
    tag = "skipped" if report.behavior_only or report.breaking else "failure"
    for part in report.parts:
        yield not_passed(
            passed(part.name, _PARTS), tag, "changed", summarize_part(part), change_lines(part, _MAX_CHANGES)
        )
    yield from uncompared_tests(report.not_compared, _PARTS, "skipped")


def _corpus(effect: Effect) -> Element:
    sentence = summarize_effect(effect)
    if effect.changed_lines:
        return not_passed(passed("ids", _CORPUS), "failure", "changed", sentence, [sentence])
    if effect.skipped_lines and not effect.lines:
        return not_passed(passed("ids", _CORPUS), "skipped", "not compared", sentence, [sentence])
    return passed("ids", _CORPUS, sentence)
