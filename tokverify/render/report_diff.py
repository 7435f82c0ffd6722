"""Describe how two reports differ: for people, as issues for CI systems, and in one line."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.render.case_text import describe_divergence
from tokverify.render.document import Document, Fields, Item, Items, Line, Section, Style, message
from tokverify.render.issue import Check, CiReport, Issue, Level, issue_of
from tokverify.render.options import RenderOptions
from tokverify.render.run.verdict import difference_line
from tokverify.report.report_diff import (
    CaseChange,
    CaseChangeKind,
    CaseOutcome,
    DifferenceChangeKind,
    ReportDiff,
    SideChange,
    changes_of,
    count_differences,
    report_diff_exit_code,
)
from tokverify.report.side import Side
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

_MAX_IDS = 12
_CASES = {
    CaseChangeKind.FAILED: ("failed", "Failed: passed before, fail now", Style.BAD),
    CaseChangeKind.NEW_FAILED: ("new and failing", "New and failing", Style.BAD),
    CaseChangeKind.CHANGED: ("failing differently", "Changed: failed before, fail differently now", Style.WARNING),
    CaseChangeKind.FIXED: ("fixed", "Fixed: failed before, match now", Style.GOOD),
    CaseChangeKind.STATUS: ("with another status", "Another status", Style.STRONG),
    CaseChangeKind.IDS: ("matching with other ids", "Match as before, with other ids", Style.STRONG),
    CaseChangeKind.NEW: ("new", "New", Style.STRONG),
    CaseChangeKind.VANISHED: ("vanished", "Vanished", Style.STRONG),
}
"""Kind of change -> what the verdict calls it, the heading above such cases, and its style."""

_DIFFERENCES = {
    DifferenceChangeKind.FAILED: ("failing difference", Style.BAD),
    DifferenceChangeKind.SHOWN: ("shown difference", Style.PLAIN),
    DifferenceChangeKind.FIXED: ("fixed difference", Style.GOOD),
    DifferenceChangeKind.VANISHED: ("vanished difference", Style.DIM),
}
"""The same for differences between the tokenizers, which have no headings."""

_OUTCOMES = {
    0: ("Passed", "nothing fails that did not fail before"),
    1: ("Failed", "something fails that did not fail before"),
}
_CASE_CHECKS = {
    CaseChangeKind.FAILED: Check("case-failed", "failed", "A case passed before and fails now.", Level.ERROR),
    CaseChangeKind.NEW_FAILED: Check("case-new-failed", "new and failing", "A new case fails.", Level.ERROR),
    CaseChangeKind.CHANGED: Check("case-changed", "changed", "A case fails differently than before.", Level.WARNING),
    CaseChangeKind.FIXED: Check("case-fixed", "fixed", "A case failed before and matches now.", Level.NOTE),
    CaseChangeKind.STATUS: Check("case-status", "other status", "A case has another status.", Level.NOTE),
    CaseChangeKind.IDS: Check("case-ids", "other ids", "A case matches as before, with other ids.", Level.NOTE),
    CaseChangeKind.NEW: Check("case-new", "new", "A case was not there before.", Level.NOTE),
    CaseChangeKind.VANISHED: Check("case-vanished", "vanished", "A case is not there any more.", Level.NOTE),
}
_DIFFERENCE = Check("difference-failed", "difference", "A difference between the tokenizers fails now.", Level.ERROR)
_NOT_COMPARED = Check("not-compared", "not compared", "Something can no longer be compared.", Level.WARNING)


def describe(diff: ReportDiff, options: RenderOptions) -> Document:  # noqa: ARG001 - nothing is folded
    """Describe what changed, the worst first."""
    return Document(
        title="tokverify: what changed",
        verdict=verdict(diff),
        exit_code=report_diff_exit_code(diff),
        sections=_sections(diff),
        outcome=_OUTCOMES[report_diff_exit_code(diff)],
    )


def verdict(diff: ReportDiff) -> str:
    """Sum up what changed, such as `2 failed, 1 fixed; 280 cases before, 281 now`."""
    counts = {kind: len(changes_of(diff, kind)) for kind in CaseChangeKind}
    listed = ", ".join(f"{count:,} {_CASES[kind][0]}" for kind, count in counts.items() if count)
    differences = {kind: count_differences(diff, kind) for kind in DifferenceChangeKind}
    between = ", ".join(plural(count, _DIFFERENCES[kind][0]) for kind, count in differences.items() if count)
    parts = [listed] if listed else []
    if between:
        parts.append(f"{between} between the tokenizers")
    if diff.not_compared:
        parts.append(f"{plural(len(diff.not_compared), 'comparison')} of the tokenizers no longer possible")
    cases = f"{plural(diff.old_cases, 'case')} before, {diff.new_cases:,} now"
    return "; ".join([*(parts or ["nothing changed"]), cases])


def _sections(diff: ReportDiff) -> Iterator[Section]:
    versions = [
        (visible_message(library), message(f"{change.old or 'none'} before, {change.new or 'none'} now"))
        for library, change in diff.versions.items()
    ]
    sides = [*_side_lines("actual", diff.actual), *_side_lines("expected", diff.expected)]
    yield Section([Fields([*sides, *versions])])
    lines: list[Line] = [
        (str(change.kind), message(difference_line(change.difference), _DIFFERENCES[change.kind][1]))
        for change in diff.differences
    ]
    lines += [("not compared", message(reason, Style.WARNING)) for reason in diff.not_compared]
    if lines:
        yield Section([Fields(lines)], "Differences between the tokenizers")
    for kind in CaseChangeKind:
        changes = changes_of(diff, kind)
        if changes:
            items = [
                Item([message(each.case, Style.STRONG), *(message(text, Style.DIM) for text in _change_texts(each))])
                for each in changes
            ]
            _, heading, style = _CASES[kind]
            yield Section([Items(items, numbered=False)], heading, style)


def _side_lines(role: str, change: SideChange) -> Iterator[Line]:
    """Yield who was compared before and now, and whether that is the same."""
    yield role, message(f"{_name(change.new)}: {'the same' if change.same else 'changed'}")
    if not change.same:
        yield "", message(f"before: {_name(change.old)}, {_identity(change.old)}")
        yield "", message(f"now: {_name(change.new)}, {_identity(change.new)}")


def _name(side: Side) -> str:
    return side.name if side.name == side.source else f"{side.name}, {side.source}"


def _identity(side: Side) -> str:
    if side.fingerprint:
        return f"fingerprint {side.fingerprint}"
    return f"sha256 {side.sha256}" if side.sha256 else side.source


def _change_texts(change: CaseChange) -> Iterator[str]:
    """Yield what is to be said about a change besides the name of the case, not escaped yet."""
    if change.edited:
        yield "the case itself was changed"
    if change.old and change.kind in {CaseChangeKind.CHANGED, CaseChangeKind.STATUS, CaseChangeKind.IDS}:
        yield f"before: {_describe_outcome(change.old)}"
    if change.new and change.kind not in {CaseChangeKind.FIXED, CaseChangeKind.NEW}:
        yield f"now: {_describe_outcome(change.new)}"


def _describe_outcome(outcome: CaseOutcome) -> str:
    if outcome.divergence:
        return f"{outcome.status}, {describe_divergence(outcome.divergence, outcome.other)}"
    if outcome.message:
        return f"{outcome.status}, {outcome.message}"
    ids = ", ".join(map(str, outcome.actual[:_MAX_IDS])) + ", ..." * (len(outcome.actual) > _MAX_IDS)
    return f"{outcome.status}, {plural(len(outcome.actual), 'token')}{f': {ids}' if ids else ''}"


def to_ci_report(diff: ReportDiff) -> CiReport:
    """Return what CI systems show of two reports."""
    return CiReport(
        issues=_issues(diff),
        checks=(*_CASE_CHECKS.values(), _DIFFERENCE, _NOT_COMPARED),
        properties={"model": diff.actual.new.source, "reference": diff.expected.new.source},
    )


def _issues(diff: ReportDiff) -> Iterator[Issue]:
    model = diff.actual.new
    for change in diff.changes:
        check = _CASE_CHECKS[change.kind]
        yield Issue(
            check=check.id,
            level=check.level,
            title=f"{check.name}: {visible_message(change.case)}",
            message="\n".join(map(visible_message, _change_texts(change))) or check.summary,
            path=model.source,
            key=f"{model.name}\0{change.case}",
        )
    for found in diff.differences:
        if found.kind is DifferenceChangeKind.FAILED:
            line = visible_message(difference_line(found.difference))
            yield issue_of(_DIFFERENCE, [line], path=model.source, key=f"{model.name}\0{found.difference.digest}")
    for reason in diff.not_compared:
        yield issue_of(_NOT_COMPARED, [visible_message(reason)], path=model.source, key=f"{model.name}\0{reason}")
