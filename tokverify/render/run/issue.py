"""The issues of a run, as CI systems show them: the failing cases, each at its place, and what concerns all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from xml.etree.ElementTree import Element

from tokverify.render.case_text import description, headline, known_text, result_alignment
from tokverify.render.draw_issues import not_passed, passed, suite, uncompared_tests
from tokverify.render.issue import Check, CiReport, Issue, Level, issue_of, join_lines
from tokverify.render.run.verdict import count_limit, difference_line, explanation_lines, name_aspect, verdict
from tokverify.report.finding import Severity
from tokverify.report.known_difference import subject_of
from tokverify.report.run import (
    CaseResult,
    Report,
    Status,
    compares_nothing,
    run_exit_code,
    vocabularies_differ,
)
from tokverify.report.tokenizer_difference import Aspect, difference_fails
from tokverify.text.sequence import group_values
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

_SHOWN_LEVELS = {Severity.ERROR: Level.WARNING, Severity.WARNING: Level.WARNING, Severity.INFO: Level.NOTE}
DECODING_CHECK = Check("decoding", "decoding", "The two sides decode the same ids to different bytes.", Level.WARNING)
VOCABULARY_CHECK = Check("vocabulary", "vocabulary", "The two vocabularies differ.", Level.WARNING)
TOKENIZER_CHECKS = tuple(
    Check(f"tokenizer-{aspect}", aspect, f"{aspect.meaning}.".capitalize(), Level.ERROR) for aspect in Aspect
)
"""How the tokenizers themselves can differ."""

UNCOMPARED_CHECK = Check("not-compared", "not compared", "Something could not be compared.", Level.ERROR)

RUN_CHECKS = (
    Check("case-mismatch", "mismatch", "A text is encoded to the wrong ids.", Level.ERROR),
    Check("case-error", "error", "A text cannot be encoded.", Level.ERROR),
    Check("limit", "limit", "llama.cpp differs from the reference, whatever the file says.", Level.NOTE),
    Check("diagnosis", "cause", "A change to the tokenizer makes failing cases match.", Level.ERROR),
    *TOKENIZER_CHECKS,
    UNCOMPARED_CHECK,
    Check("baseline-fixed", "fixed", "A baseline lists a case that matches now.", Level.NOTE),
)
"""The kinds of issues of a run."""


def to_ci_report(report: Report) -> CiReport:
    """Return the issues of a report."""
    return CiReport(
        issues=_report_issues(report),
        checks=RUN_CHECKS,
        skipped=uncompared_notes(report),
    )


def uncompared_notes(report: Report) -> list[str]:
    """Return a sentence for each thing about the tokenizers that was not compared."""
    return [f"not compared: {visible_message(reason)}" for reason in report.not_compared]


def _report_issues(report: Report) -> Iterator[Issue]:
    """Yield the cause and other issues of a report, the failing cases, and the failures that a baseline accepts."""
    yield from _report_wide_issues(report)
    for result in report.results:
        if result.fails:
            yield replace(case_issue(result, report, "case"), example_of=report.actual.name)
    yield from (case_issue(result, report, "case") for result in report.results if result.status is Status.KNOWN)


def _diagnosis_issues(report: Report) -> Iterator[Issue]:
    """Yield one issue with the explanations of the failures, if there are any."""
    lines = explanation_lines(report)
    if lines:
        yield Issue(
            check="diagnosis",
            level=Level.ERROR if run_exit_code(report) else Level.NOTE,
            title="cause",
            message=join_lines(lines),
            path=report.actual.source,
            key=report.actual.name,
        )


def _limit_issues(report: Report) -> Iterator[Issue]:
    """Yield one issue for each limit, with the cases that it explains."""
    for limit in report.limits:
        names = [result.case.name for result in report.results if limit.code in result.explained_by]
        lines = [
            count_limit(limit),
            limit.advice,
            *names,
        ]
        yield Issue(
            check="limit",
            level=Level.ERROR if report.strict else Level.NOTE,
            title=f"limit: {limit.code} {limit.name}",
            message=join_lines(list(map(visible_message, lines))),
            path=report.actual.source,
            key=f"{report.actual.name}\0{limit.code}",
        )


def case_issue(result: CaseResult, report: Report, prefix: str, *, path: str = "", more: Iterable[str] = ()) -> Issue:
    """Return the issue of a case that fails or is known to, of the check `PREFIX-mismatch`, `-error` or `-decoding`.

    If the case has no file, it is located at `path`, by default the model. The lines in `more` have passed `visible`.
    """
    way = "mismatch" if result.difference else "decoding" if result.status is Status.MISMATCH else "error"
    return Issue(
        check=f"{prefix}-{way}",
        level=Level.NOTE if result.known else Level.ERROR,
        title=f"{result.status}: {visible_message(result.case.name)}",
        message=join_lines([headline(result), *more, *description(result), *result_alignment(result)]),
        path=result.case.file or path or report.actual.source,
        line=max(1, result.case.line),
        key=f"{report.actual.name}\0{result.case.name}",
        accepted=visible_message(known_text(result.known)) if result.known else None,
    )


def vocabulary_issues(report: Report) -> Iterator[Issue]:
    """Yield an issue if the vocabularies differ."""
    if vocabularies_differ(report.vocabulary):
        sides = " and ".join(visible_message(side.name) for side in (report.actual, report.expected))
        message = f"the vocabularies of {sides} differ"
        yield issue_of(VOCABULARY_CHECK, [message], path=report.actual.source, key=report.actual.name)


def difference_issues(report: Report) -> Iterator[Issue]:
    """Yield an issue for each difference between the tokenizers."""
    for difference in report.differences:
        fails = difference_fails(difference, report.fail_on)
        lines = [difference.message, *difference.refusals]
        yield Issue(
            check=f"tokenizer-{difference.aspect}",
            level=Level.ERROR if fails else _SHOWN_LEVELS[difference.severity],
            title=f"tokenizers: {name_aspect(difference.aspect)}",
            message=join_lines(list(map(visible_message, lines))),
            path=report.actual.source,
            key=f"{report.actual.name}\0{difference.digest}",
            accepted=visible_message(known_text(difference.known)) if difference.known else None,
        )


def uncompared_issues(report: Report) -> Iterator[Issue]:
    """Yield an issue for each reason why something was not compared, for a run that fails because of that."""
    yield from (_uncompared([visible_message(reason)], report) for reason in report.not_compared)
    skipped = (result for result in report.results if result.status is Status.SKIPPED)
    by_reason = group_values((headline(result), visible_message(result.case.name)) for result in skipped)
    for reason, names in by_reason.items():
        yield _uncompared([f"{plural(len(names), 'case')}: {reason}", *names], report)


def _uncompared(lines: Sequence[str], report: Report) -> Issue:
    key = f"{report.actual.name}\0{lines[0]}"
    return issue_of(UNCOMPARED_CHECK, lines, path=report.actual.source, key=key)


def decoding_issues(report: Report, path: str) -> Iterator[Issue]:
    """Yield an issue at `path` if cases are decoded differently."""
    names = [visible_message(result.case.name) for result in report.results if result.decode_difference]
    if names:
        message = f"the two sides decode the ids of {plural(len(names), 'case')} differently: {', '.join(names)}"
        yield issue_of(DECODING_CHECK, [message], path=path, key=report.actual.name)


def _report_wide_issues(report: Report) -> Iterator[Issue]:
    model = report.actual.source
    yield from _diagnosis_issues(report)
    yield from _limit_issues(report)
    yield from difference_issues(report)
    if report.fails_uncompared or compares_nothing(report) or report.gone:
        yield from uncompared_issues(report)
    for entry in report.baseline.fixed if report.baseline else ():
        path, _, line = entry.place.rpartition(":")
        subject = visible_message(subject_of(entry))
        message = f"{subject} matches now; take its entry out of the baseline (--accept does)"
        yield Issue(
            check="baseline-fixed",
            level=Level.NOTE,
            title=f"fixed: {subject}",
            message=message,
            path=path or model,
            line=int(line) if line.isdecimal() else 1,
            key=f"{subject_of(entry)}\0{entry.difference}\0{entry.model}",
        )


_TOKENIZERS = "tokenizers"
_TAGS = {Status.MATCH: "", Status.MISMATCH: "failure", Status.ERROR: "error", Status.KNOWN: "skipped"}


def suites_of(report: Report) -> Iterator[Element]:
    """Yield the suites of a report: how the tokenizers differ, and the cases.

    A failure that a baseline accepts counts as skipped, as `xfail` does elsewhere.
    """
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
    # What was not compared is skipped, unless that makes the run fail.
    tag = "failure" if report.fails_uncompared else "error" if report.gone else "skipped"
    gaps = uncompared_tests(report.not_compared, _TOKENIZERS, tag)
    if tests := [*(_aspect_test(aspect, report) for aspect in aspects), *gaps]:
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


def case_suites(report: Report, properties: Mapping[str, str]) -> Iterator[Element]:
    """Yield a suite for each file of cases."""
    # A CI system that reads only this file must not show a failing run as passed.
    skipped = "failure" if report.fails_uncompared else "error" if compares_nothing(report) else "skipped"
    tags = {**_TAGS, Status.SKIPPED: skipped}
    by_file = group_values(((result.case.file, result.case.suite), result) for result in report.results)
    for (file, name), results in by_file.items():
        yield suite(name, properties, [_case(result, tags[result.status], report) for result in results], file)


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
    return [*place, headline(result), *description(result), *result_alignment(result)]
