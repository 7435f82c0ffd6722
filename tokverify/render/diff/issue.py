"""What a comparison of two versions tells a CI system: each part that changed, and each way in which texts do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.diff.example import examples
from tokverify.render.ci import CiReport
from tokverify.render.ci.issue import Check, Issue, Level
from tokverify.render.diff import alike, change_lines, effect, summary, verdict
from tokverify.render.fuzz.issue import FINDING_CHECKS, finding_issues
from tokverify.render.run.issue import DECODING_CHECK, case_issue, decoding_issues
from tokverify.text.visible import visible_message

if TYPE_CHECKING:
    from tokverify.diff.part import Part
    from tokverify.report.diff import ChangeReport

CHANGE_CHECKS = (
    Check("changed-part", "part", "A part of the tokenizer is another one.", Level.ERROR),
    Check("change-mismatch", "mismatch", "A text gets other ids than before.", Level.ERROR),
    Check("change-error", "error", "Only one of the versions can encode a text.", Level.ERROR),
    *FINDING_CHECKS,
    Check("changed-corpus", "corpus", "Texts of the corpus get other ids than before.", Level.ERROR),
    DECODING_CHECK,
    Check("not-compared", "not compared", "A part of the tokenizer could not be compared.", Level.WARNING),
)
"""What a report of `tokverify diff` can tell of."""

_MOST_CHANGES = 10


def to_ci_report(report: ChangeReport) -> CiReport:
    """Return what CI systems are told of what changed."""
    return CiReport(
        issues=change_issues(report), checks=CHANGE_CHECKS, verdict=verdict(report), exit_code=report.exit_code
    )


def change_issues(report: ChangeReport) -> Iterator[Issue]:
    """Yield what changed; where no file of a case is concerned, it points at the tokenizer's file."""
    sides = [f"actual is {visible_message(report.new.source)}, expected is {visible_message(report.old.source)}"]
    yield from (_part_issue(part, report) for part in report.parts)
    if report.effect and report.effect.changed_lines:
        yield _issue("changed-corpus", Level.ERROR, "changed: corpus", effect(report.effect), report)
    for example in examples(report):
        more = [*sides, *alike(example)]
        yield case_issue(example.result, report.report, "change", path=_file(report), more=more)
    if report.fuzzed:
        yield from finding_issues(report.fuzzed, _file(report), sides)
    yield from decoding_issues(report.report, _file(report))
    for reason in report.not_compared:
        yield _issue("not-compared", Level.WARNING, "not compared", visible_message(reason), report)


def _part_issue(part: Part, report: ChangeReport) -> Issue:
    lines = [summary(part), *change_lines(part, _MOST_CHANGES)]
    level = Level.NOTE if report.behavior_only else Level.ERROR
    return _issue("changed-part", level, f"changed: {visible_message(part.name)}", "\n".join(lines), report)


def _issue(check: str, level: Level, title: str, message: str, report: ChangeReport) -> Issue:
    key = f"{report.new.name}\0{message}"
    return Issue(check=check, level=level, title=title, message=message, path=_file(report), key=key)


def _file(report: ChangeReport) -> str:
    return report.file or report.new.source
