"""What was not learned about a tokenizer as issues, for CI systems."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.render.ci import CiReport
from tokverify.render.ci.issue import Check, Issue, Level, issue_of
from tokverify.render.learn.describe import format_ids, verdict
from tokverify.report.learn import Learning, learning_exit_code
from tokverify.text.visible import visible, visible_message

_DIFFERENCE = Check("learn-difference", "difference", "The learned tokenizer gives other ids.", Level.ERROR)
_HIDDEN = Check("learn-hidden", "not revealed", "The reference does not reveal something.", Level.NOTE)


def to_ci_report(learning: Learning) -> CiReport:
    """Return what CI systems show of a learned tokenizer."""
    return CiReport(
        issues=_issues(learning),
        checks=(_DIFFERENCE, _HIDDEN),
        verdict=verdict(learning),
        exit_code=learning_exit_code(learning),
        properties={"reference": learning.reference.source, "learned": learning.target},
    )


def _issues(learning: Learning) -> Iterator[Issue]:
    for example in learning.examples:
        lines = [
            f"text: {visible(example.text)}",
            f"reference: {format_ids(example.expected)}",
            f"learned: {format_ids(example.actual)}",
        ]
        yield issue_of(_DIFFERENCE, lines, path=learning.target, key=f"{learning.target}\0{example.text}")
    for line in learning.hidden:
        yield issue_of(_HIDDEN, [visible_message(line)], path=learning.target, key=f"{learning.target}\0{line}")
