"""Issue: one thing with a place that a CI system is told of, by the `github`, `gitlab` and `sarif` formats."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from tokverify.audit.finding import Severity
from tokverify.formats.case_text import alignment_lines, description, headline, known_text, other_side, plain
from tokverify.report import Status
from tokverify.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tokverify.audit.finding import Finding
    from tokverify.audit.report import AuditReport
    from tokverify.report import CaseResult, Report

_MOST_LINES = 40


class Level(StrEnum):
    """How bad an issue is."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Check:
    """A kind of issue; `manual` says in Markdown what it is about."""

    id: str
    name: str
    summary: str
    level: Level
    manual: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """Something found; `key` names it from run to run.

    `message` may have several lines; it and `title` have passed `visible`. `path` and `line` (1-based) are where it
    is shown; the path is empty if nowhere. `accepted` is the reason why it does not count, None where it does.
    """

    check: str
    level: Level
    title: str
    message: str
    path: str
    line: int = 1
    key: str
    accepted: str | None = None

    @property
    def fingerprint(self) -> str:
        """A digest of the key, in hexadecimal."""
        return hashlib.sha256(f"{self.check}\0{self.key}".encode("utf-8", "surrogatepass")).hexdigest()


VOCABULARY_CHECK = Check("vocabulary", "vocabulary", "The two vocabularies differ.", Level.WARNING)
DECODING_CHECK = Check("decoding", "decoding", "The two sides decode the same ids to different bytes.", Level.WARNING)

CHECKS: Mapping[str, Check] = {
    check.id: check
    for check in (
        Check("case-mismatch", "mismatch", "A text gets other ids than it should.", Level.ERROR),
        Check("case-error", "error", "A text cannot be encoded.", Level.ERROR),
        VOCABULARY_CHECK,
        DECODING_CHECK,
        Check("baseline-fixed", "fixed", "A baseline lists a failure that is none any more.", Level.NOTE),
    )
}
"""What a report of `tokverify run` can tell of."""

LEVELS: Mapping[Severity, Level] = {
    Severity.ERROR: Level.ERROR,
    Severity.WARNING: Level.WARNING,
    Severity.INFO: Level.NOTE,
}
"""Severity of a finding -> how bad an issue it is."""


def report_issues(report: Report) -> Iterator[Issue]:
    """Yield the failing cases of a report, what else is to be told, and what a baseline accepts."""
    failing = [result for result in report.results if result.status in {Status.MISMATCH, Status.ERROR}]
    yield from (case_issue(result, report, "case") for result in failing)
    yield from _report_wide_issues(report)
    yield from (case_issue(result, report, "case") for result in report.results if result.status is Status.KNOWN)


def audit_issues(report: AuditReport) -> Iterator[Issue]:
    """Yield the findings of an audit, then those that are waived."""
    yield from (_finding_issue(finding, report) for finding in report.findings)
    for waived in report.waived:
        yield _finding_issue(waived.finding, report, f"{waived.waiver.reason} ({waived.waiver.place})")


def audit_checks(report: AuditReport) -> list[Check]:
    """Return the rules that an audit selected, with their manuals.

    A saved report may be of a tokverify that has other rules; of those no more is known than what they found.
    """
    from tokverify.formats.manual import explain
    from tokverify.rules import RULES

    found = [*report.findings, *(waived.finding for waived in report.waived)]
    known = [RULES[code] for code in {*report.codes, *(finding.code for finding in found)} if code in RULES]
    checks = {
        finding.code: Check(finding.code, finding.name, "A rule of another tokverify.", LEVELS[finding.severity])
        for finding in found
    }
    checks |= {
        rule.code: Check(rule.code, rule.name, rule.manual.partition("\n")[0], LEVELS[rule.severity], explain(rule))
        for rule in known
    }
    return sorted(checks.values(), key=lambda check: check.id)


def case_issue(result: CaseResult, report: Report, prefix: str, *, path: str = "", more: Iterable[str] = ()) -> Issue:
    """Return what there is to tell of a case that fails, or is known to.

    Args:
        result: What became of it.
        report: The report it is in.
        prefix: How the checks are named that it can be of: `PREFIX-mismatch`, `PREFIX-error` or `PREFIX-decoding`.
        path: Where to point if the case has no file; by default that is the model.
        more: Lines to tell after the first one; they have passed `visible`.
    """
    lines = [headline(result), *more, *description(result)]
    if result.difference:
        lines += alignment_lines(result.difference, other_side(result))
    return Issue(
        check=f"{prefix}-{_way(result)}",
        level=Level.NOTE if result.known else Level.ERROR,
        title=f"{result.status}: {plain(result.name)}",
        message=message_of(lines),
        path=result.case.file or path or report.actual.source,
        line=max(1, result.case.line),
        key=f"{report.actual.name}\0{result.name}",
        accepted=plain(known_text(result.known)) if result.known else None,
    )


def message_of(lines: Sequence[str]) -> str:
    """Join the lines of a message; the end of a very long one is left out, and said to be."""
    left_out = len(lines) - _MOST_LINES
    more = [f"... {left_out:,} more lines ..."] if left_out > 0 else []
    return "\n".join([*lines[:_MOST_LINES], *more])


def _way(result: CaseResult) -> str:
    """Name the way in which a case fails."""
    if result.difference:
        return "mismatch"
    return "decoding" if result.status is Status.MISMATCH else "error"


def vocabulary_issues(report: Report) -> Iterator[Issue]:
    """Yield that the vocabularies differ, if they do."""
    if report.vocabulary:
        message = f"the vocabularies of {plain(report.actual.name)} and {plain(report.expected.name)} differ"
        yield _warning("vocabulary", message, report.actual.source, report.actual.name)


def decoding_issues(report: Report, path: str) -> Iterator[Issue]:
    """Yield that cases are decoded differently, if they are; `path` is where to point."""
    if report.decode_differences:
        names = [plain(result.name) for result in report.results if result.decode_difference]
        message = f"the two sides decode the ids of {plural(len(names), 'case')} differently: {', '.join(names)}"
        yield _warning("decoding", message, path, report.actual.name)


def _report_wide_issues(report: Report) -> Iterator[Issue]:
    model = report.actual.source
    yield from vocabulary_issues(report)
    yield from decoding_issues(report, model)
    for entry in report.baseline.fixed if report.baseline else ():
        path, _, line = entry.place.rpartition(":")
        message = f"{plain(entry.case)} matches now; take its entry out of the baseline (--update-baseline does)"
        yield Issue(
            check="baseline-fixed",
            level=Level.NOTE,
            title=f"fixed: {plain(entry.case)}",
            message=message,
            path=path or model,
            line=int(line) if line.isdecimal() else 1,
            key=f"{entry.case}\0{entry.difference}\0{entry.model}",
        )


def _warning(check: str, message: str, path: str, key: str) -> Issue:
    return Issue(check=check, level=Level.WARNING, title=check, message=message, path=path, key=key)


def _finding_issue(finding: Finding, report: AuditReport, accepted: str | None = None) -> Issue:
    lines = [finding.message, f"repair: {finding.repair}" if finding.repair else "", accepted and f"waived: {accepted}"]
    return Issue(
        check=finding.code,
        level=LEVELS[finding.severity],
        title=f"{finding.code} {finding.name}",
        message="\n".join(plain(line) for line in lines if line),
        path=report.source,
        key=f"{report.source}\0{finding.message}",
        accepted=None if accepted is None else plain(accepted),
    )
