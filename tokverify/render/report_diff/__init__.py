"""The output formats of `tokverify report diff`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from tokverify.render.case_text import headline
from tokverify.render.presentation import Presentation, bind_formats, renderers
from tokverify.text.wording import plural
from tokverify.verify.report_diff import Kind

if TYPE_CHECKING:
    from tokverify.render import RenderOptions
    from tokverify.report.run import CaseResult, Side
    from tokverify.verify.report_diff import CaseChange, ReportDiff

_MOST_IDS = 12
TITLES = {
    Kind.FAILED: "failed: passed before, and fail now",
    Kind.NEW_FAILED: "new and failing",
    Kind.CHANGED: "changed: failed before, and fail otherwise now",
    Kind.FIXED: "fixed: failed before, and match now",
    Kind.STATUS: "another status",
    Kind.IDS: "match as before, with other ids",
    Kind.NEW: "new",
    Kind.VANISHED: "vanished",
}
"""What stands above the cases of a kind."""


def verdict(diff: ReportDiff) -> str:
    """Sum up what changed, such as `2 failed, 1 fixed; 280 cases before, 281 now`."""
    counts = [f"{len(diff.of(kind)):,} {kind}" for kind in Kind if diff.of(kind)]
    cases = f"{plural(len(diff.old.results), 'case')} before, {len(diff.new.results):,} now"
    return f"{', '.join(counts) or 'nothing changed'}; {cases}"


def sides(diff: ReportDiff) -> Iterator[tuple[str, str]]:
    """Say who was compared before and now, and whether that is the same."""
    for role in ("actual", "expected"):
        old: Side = getattr(diff.old, role)
        new: Side = getattr(diff.new, role)
        yield role, f"{_named(new)}: {'the same' if _identity(old) == _identity(new) else 'changed'}"
        if _identity(old) != _identity(new):
            yield "", f"before: {_named(old)}, {_identity(old)}"
            yield "", f"now: {_named(new)}, {_identity(new)}"
    for library in sorted({*diff.old.versions, *diff.new.versions}):
        versions = [report.versions.get(library, "none") for report in (diff.old, diff.new)]
        if versions[0] != versions[1]:
            yield library, f"{versions[0]} before, {versions[1]} now"


def _named(side: Side) -> str:
    return side.name if side.name == side.source else f"{side.name}, {side.source}"


def _identity(side: Side) -> str:
    """Return what decides the ids, as far as a report tells."""
    if side.fingerprint:
        return f"fingerprint {side.fingerprint}"
    return f"sha256 {side.sha256}" if side.sha256 else side.source


def lines(change: CaseChange) -> Iterator[str]:
    """Say what changed, in lines that have passed `visible`."""
    if change.edited:
        yield "the case itself was changed"
    if change.old and change.kind in {Kind.CHANGED, Kind.STATUS, Kind.IDS}:
        yield f"before: {_told(change.old)}"
    if change.new and change.kind not in {Kind.FIXED, Kind.NEW}:
        yield f"now: {_told(change.new)}"


def _told(result: CaseResult) -> str:
    told = f"{result.status}, "
    if result.difference or result.message:
        return told + headline(result)
    ids = ", ".join(map(str, result.actual[:_MOST_IDS])) + ", ..." * (len(result.actual) > _MOST_IDS)
    return f"{told}{plural(len(result.actual), 'token')}{f': {ids}' if ids else ''}"


DIFF_FORMATS: Mapping[str, Callable[[ReportDiff, RenderOptions], str]] = renderers(
    {
        "table": "tokverify.render.report_diff.table:render",
        "json": "tokverify.render.report_diff.json:render",
        "markdown": "tokverify.render.report_diff.markdown:render",
    }
)
"""Name -> how a comparison of two reports is written."""


def present(diff: ReportDiff) -> Presentation:
    """Return how a comparison is written."""
    return Presentation(bind_formats(DIFF_FORMATS, diff), verdict(diff), diff.exit_code)
