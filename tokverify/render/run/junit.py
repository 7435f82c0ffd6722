"""The `junit` format of `tokverify run`: one suite for each file of cases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from xml.etree.ElementTree import Element

from tokverify.render.case_text import alignment_lines, description, headline, known_text
from tokverify.render.draw_junit import document, not_passed, passed, suite, uncompared_tests
from tokverify.render.run.differences import difference_line
from tokverify.render.run.verdict import explanation_lines, verdict
from tokverify.report.run import CaseResult, Report, Status, compares_nothing, other_side
from tokverify.report.tokenizer_difference import Aspect, difference_fails
from tokverify.text.visible import visible_message

_TOKENIZERS = "tokenizers"
_TAGS = {Status.MATCH: "", Status.MISMATCH: "failure", Status.ERROR: "error", Status.KNOWN: "skipped"}


def render(report: Report) -> str:
    """Write a report as JUnit XML; a failure that a baseline accepts counts as skipped, as `xfail` does elsewhere."""
    return document(suites_of(report))


def suites_of(report: Report) -> Iterator[Element]:
    """Yield the suites of a report: how the tokenizers differ, and the cases."""
    properties = properties_of(report, verdict(report))
    yield from tokenizer_suites(report, properties)
    yield from case_suites(report, properties)


def properties_of(report: Report, verdict: str) -> dict[str, str]:
    """Return the properties of each suite: the two sides, and the result."""
    return {
        "model": report.actual.source,
        "fingerprint": report.actual.fingerprint or "",
        "reference": report.expected.source,
        "caveat": report.expected.caveat,
        "not compared": "; ".join(report.not_compared),
        "verdict": verdict,
        "diagnosis": "; ".join(explanation_lines(report)),
    }


def tokenizer_suites(report: Report, properties: Mapping[str, str]) -> Iterator[Element]:
    """Yield a suite on how the tokenizers themselves differ, with a test for each aspect and each gap."""
    compared = [aspect for aspect in Aspect if aspect is not Aspect.RULES or report.rules]
    aspects = compared if report.vocabulary else []
    tests = [*(_aspect_test(aspect, report) for aspect in aspects), *_gap_tests(report)]
    if tests:
        yield suite(_TOKENIZERS, properties, tests)


def _aspect_test(aspect: Aspect, report: Report) -> Element:
    differences = [difference for difference in report.differences if difference.aspect is aspect]
    lines = [visible_message(difference_line(difference)) for difference in differences]
    failing = [each for each in differences if difference_fails(each, report.fail_on)]
    if failing:
        message = visible_message(failing[0].message)
        return not_passed(passed(aspect, _TOKENIZERS), "failure", aspect, message, lines)
    known = [f"known: {visible_message(known_text(each.known))}" for each in differences if each.known]
    if known:
        return not_passed(passed(aspect, _TOKENIZERS), "skipped", aspect, known[0], lines)
    return passed(aspect, _TOKENIZERS, "\n".join(lines))


def _gap_tests(report: Report) -> Iterator[Element]:
    """Yield a test for each thing that was not compared, skipped unless that makes the run fail."""
    tag = "failure" if report.fails_uncompared else "error" if report.gone else "skipped"
    yield from uncompared_tests(report.not_compared, _TOKENIZERS, tag)


def case_suites(report: Report, properties: Mapping[str, str]) -> Iterator[Element]:
    """Yield a suite for each file of cases."""
    tags = {**_TAGS, Status.SKIPPED: _skipped_tag(report)}
    for (file, name), results in _by_file(report.results).items():
        yield suite(name, properties, [_case(result, tags[result.status], report) for result in results], file)


def _skipped_tag(report: Report) -> str:
    """Return what a skipped case is: a CI system that reads only this file must not show a failing run as passed."""
    if report.fails_uncompared:
        return "failure"
    return "error" if compares_nothing(report) else "skipped"


def _by_file(results: Iterable[CaseResult]) -> dict[tuple[str, str], list[CaseResult]]:
    suites: dict[tuple[str, str], list[CaseResult]] = {}
    for result in results:
        suites.setdefault((result.case.file, result.case.suite), []).append(result)
    return suites


def _case(result: CaseResult, tag: str, report: Report) -> Element:
    case, status = result.case, result.status
    if status is Status.MATCH:
        return passed(case.id, case.suite, "\n".join(map(visible_message, result.notes)))
    if result.explained_by and not report.strict:
        return passed(case.id, case.suite, "\n".join([*_limit_lines(result, report), *_body(result)]))
    message = f"known: {visible_message(known_text(result.known))}" if result.known else headline(result)
    return not_passed(passed(case.id, case.suite), tag, str(status), message, _body(result))


def _limit_lines(result: CaseResult, report: Report) -> list[str]:
    """Say why an explained case passes."""
    limits = [limit for limit in report.limits if limit.code in result.explained_by]
    return [visible_message(f"explained: {limit.message} ({limit.code} {limit.name})") for limit in limits]


def _body(result: CaseResult) -> list[str]:
    place = [f"{visible_message(result.case.file)}:{result.case.line}"] if result.case.file else []
    lines = [*place, headline(result), *description(result)]
    return [*lines, *alignment_lines(result.difference, other_side(result))] if result.difference else lines
