"""Turn a comparison into issues for CI systems: each part that changed, and each cause for which texts change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from tokverify.render.ci import CiReport
from tokverify.render.ci.issue import Check, Issue, Level
from tokverify.render.diff.consequence import consequence_lines, counted_consequences
from tokverify.render.diff.verdict import cause_lines, change_lines, summarize_effect, summarize_part, verdict
from tokverify.render.fuzz.issue import CASE_CHECKS, FINDING_CHECKS, finding_issues
from tokverify.render.run.issue import DECODING_CHECK, case_issue, decoding_issues
from tokverify.render.run.junit import case_suites
from tokverify.report.consequence import Outcome
from tokverify.report.diff import ChangeReport, Part, diff_exit_code, new_side, old_side
from tokverify.text.visible import visible_message

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_CASE_CHECKS = (
    Check("change-mismatch", "mismatch", "A text is encoded differently than before.", Level.ERROR),
    Check("change-error", "error", "Only one of the versions can encode a text.", Level.ERROR),
)
CHANGE_CHECKS = (
    Check("changed-part", "part", "A part of the tokenizer changed.", Level.ERROR),
    *_CASE_CHECKS,
    *FINDING_CHECKS,
    Check("changed-corpus", "corpus", "Texts of the corpus are encoded differently than before.", Level.ERROR),
    DECODING_CHECK,
    Check("broken-consequence", "broken", "Something that depends on the tokenizer is no longer valid.", Level.ERROR),
    Check("not-compared", "not compared", "A part of the tokenizer could not be compared.", Level.WARNING),
)
"""Everything that `tokverify diff` can report."""

_MAX_CHANGES = 10


def to_ci_report(report: ChangeReport) -> CiReport:
    """Return what CI systems show of a comparison."""
    return CiReport(
        issues=list_issues(report),
        checks=CHANGE_CHECKS,
        verdict=verdict(report),
        exit_code=diff_exit_code(report),
        properties={
            "old": old_side(report).source,
            "new": new_side(report).source,
            "sides": "actual is new, expected is old",
        },
        suites=partial(_suites, report),
        tested={check.id for check in (*_CASE_CHECKS, *CASE_CHECKS)},
    )


def _suites(report: ChangeReport, properties: Mapping[str, str]) -> Iterator[Element]:
    """Yield the suites of the cases, and one of the causes that fuzzing found."""
    yield from case_suites(report.report, properties)
    if report.fuzzed:
        yield from case_suites(report.fuzzed.report, properties)


def list_issues(report: ChangeReport) -> Iterator[Issue]:
    """Yield everything that changed; whatever does not come from the file of a case points at the tokenizer's file."""
    new, old = (visible_message(side.source) for side in (new_side(report), old_side(report)))
    sides = [f"actual is {new}, expected is {old}"]
    yield from _consequence_issues(report)
    yield from (_part_issue(part, report) for part in report.parts)
    if report.effect and report.effect.changed_lines:
        yield _issue("changed-corpus", Level.ERROR, "changed: corpus", summarize_effect(report.effect), report)
    for example in report.examples:
        result = report.report.results[example.index]
        more = [*sides, *cause_lines(example)]
        yield case_issue(result, report.report, "change", path=_file(report), more=more)
    if report.fuzzed:
        yield from finding_issues(report.fuzzed, _file(report), sides)
    yield from decoding_issues(report.report, _file(report))
    for reason in report.not_compared:
        yield _issue("not-compared", Level.WARNING, "not compared", visible_message(reason), report)


def _consequence_issues(report: ChangeReport) -> Iterator[Issue]:
    for consequence in counted_consequences(report):
        lines = "\n".join(consequence_lines(consequence))
        if consequence.outcome is Outcome.BROKEN:
            yield _issue("broken-consequence", Level.ERROR, f"broken: {consequence.level}", lines, report)
        elif consequence.outcome is Outcome.UNKNOWN:
            yield _issue("not-compared", Level.ERROR, f"not compared: {consequence.level}", lines, report)


def _part_issue(part: Part, report: ChangeReport) -> Issue:
    lines = [summarize_part(part), *change_lines(part, _MAX_CHANGES)]
    level = Level.NOTE if report.behavior_only or report.breaking else Level.ERROR
    return _issue("changed-part", level, f"changed: {visible_message(part.name)}", "\n".join(lines), report)


def _issue(check: str, level: Level, title: str, message: str, report: ChangeReport) -> Issue:
    key = f"{new_side(report).name}\0{message}"
    return Issue(check=check, level=level, title=title, message=message, path=_file(report), key=key)


def _file(report: ChangeReport) -> str:
    return report.file or new_side(report).source
