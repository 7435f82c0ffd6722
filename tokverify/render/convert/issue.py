"""What a conversion loses as issues, for CI systems."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tokverify.render.ci import CiReport
from tokverify.render.ci.issue import Check, Issue, Level, issue_of
from tokverify.render.convert.verdict import verdict
from tokverify.render.run.issue import case_issue
from tokverify.report.convert import Conversion, conversion_exit_code
from tokverify.report.run_summary import FAILING
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

_CASE_CHECKS = (
    Check("convert-mismatch", "mismatch", "The target encodes a text differently than its source.", Level.ERROR),
    Check("convert-error", "error", "Only one of the two can encode a text.", Level.ERROR),
    Check("convert-decoding", "decoding", "The target decodes ids differently than its source.", Level.ERROR),
)
_LOST = Check("convert-lost", "not expressible", "The target cannot express a part of its source.", Level.WARNING)
_WARNING = Check("convert-warning", "special tokens", "The source does not declare something.", Level.WARNING)


def to_ci_report(conversion: Conversion) -> CiReport:
    """Return what CI systems show of a conversion."""
    return CiReport(
        issues=_issues(conversion),
        checks=(*_CASE_CHECKS, _LOST, _WARNING),
        verdict=verdict(conversion),
        exit_code=conversion_exit_code(conversion),
        properties={"source": conversion.source, "target": conversion.target},
    )


def _issues(conversion: Conversion) -> Iterator[Issue]:
    for part, count in zip(conversion.untransportable, conversion.explained, strict=True):
        explains = [f"explains {plural(count, 'differing text')}"] if count else []
        yield _issue(_LOST, [visible_message(part), *explains], conversion)
    for warning in conversion.warnings:
        yield _issue(_WARNING, [visible_message(warning)], conversion)
    failing = [result for result in conversion.report.results if result.status in FAILING]
    for result in failing:
        issue = case_issue(result, conversion.report, "convert", path=conversion.source)
        # Where the file is written nevertheless, that is what the user asked for.
        yield issue if not conversion.written else replace(issue, level=Level.WARNING)


def _issue(check: Check, lines: list[str], conversion: Conversion) -> Issue:
    return issue_of(check, lines, path=conversion.source, key=f"{conversion.source}\0{lines[0]}")
