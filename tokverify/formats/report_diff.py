"""The output formats of `tokverify report diff`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.formats.case_text import headline, plain
from tokverify.formats.presentation import Presentation, bound
from tokverify.report_diff import Kind
from tokverify.wording import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tokverify.formats import RenderOptions
    from tokverify.report import CaseResult, Side
    from tokverify.report_diff import CaseChange, ReportDiff

SCHEMA_VERSION = 2
_MOST_IDS = 12
_STYLES = {
    Kind.FAILED: "bold red",
    Kind.NEW_FAILED: "bold red",
    Kind.CHANGED: "bold yellow",
    Kind.FIXED: "bold green",
}
_TITLES = {
    Kind.FAILED: "failed: passed before, and fail now",
    Kind.NEW_FAILED: "new and failing",
    Kind.CHANGED: "changed: failed before, and fail otherwise now",
    Kind.FIXED: "fixed: failed before, and match now",
    Kind.STATUS: "another status",
    Kind.IDS: "match as before, with other ids",
    Kind.NEW: "new",
    Kind.VANISHED: "vanished",
}


def verdict(diff: ReportDiff) -> str:
    """Sum up what changed, such as `2 failed, 1 fixed; 280 cases before, 281 now`."""
    counts = [f"{len(diff.of(kind)):,} {kind}" for kind in Kind if diff.of(kind)]
    cases = f"{plural(len(diff.old.results), 'case')} before, {len(diff.new.results):,} now"
    return f"{', '.join(counts) or 'nothing changed'}; {cases}"


def _table(diff: ReportDiff, options: RenderOptions) -> str:
    from rich.console import Group
    from rich.text import Text

    from tokverify.formats.layout import DIM, draw, labeled, words

    def section(kind: Kind) -> Group:
        lines = [
            line
            for change in diff.of(kind)
            for line in (("", words(change.name, "bold")), *(("", Text(f"  {told}", DIM)) for told in _lines(change)))
        ]
        return Group(Text(_TITLES[kind].upper(), _STYLES.get(kind, "bold")), labeled(lines, indent=2))

    last = Text(plain(verdict(diff)), "bold red" if diff.exit_code else "bold green")
    if options.quiet:
        return draw([last], options)
    sides = [labeled((label, words(told)) for label, told in _sides(diff))]
    return draw([*sides, *(section(kind) for kind in Kind if diff.of(kind)), last], options)


def _markdown(diff: ReportDiff, options: RenderOptions) -> str:
    from tokverify.formats.markdown_text import escaped, mark, prose, table

    sections = [f"## {mark(diff.exit_code)} tokverify: what changed\n", f"**{prose(verdict(diff))}**\n"]
    if not options.quiet:
        sections.append(table(("", ""), [(label, prose(told)) for label, told in _sides(diff)]))
        for kind in Kind:
            items = [
                f"- **{prose(c.name)}**{''.join(f'<br>{escaped(told)}' for told in _lines(c))}\n" for c in diff.of(kind)
            ]
            if items:
                sections.append(f"### {_TITLES[kind].capitalize()}\n\n{''.join(items)}")
    return "\n".join(sections)


def _json(diff: ReportDiff, options: RenderOptions) -> str:  # noqa: ARG001 - the signature of every format
    from tokverify.formats.json import write

    return write(
        {
            "schema_version": SCHEMA_VERSION,
            "kind": "report diff",
            "summary": {
                "exit_code": diff.exit_code,
                "cases": {"old": len(diff.old.results), "new": len(diff.new.results)},
                **{kind.name.lower(): len(diff.of(kind)) for kind in Kind},
            },
            "actual": {"old": _side(diff.old.actual), "new": _side(diff.new.actual)},
            "expected": {"old": _side(diff.old.expected), "new": _side(diff.new.expected)},
            "changes": [
                {
                    "case": change.name,
                    "kind": change.kind.name.lower(),
                    "edited": change.edited,
                    "old": _outcome(change.old),
                    "new": _outcome(change.new),
                }
                for change in diff.changes
            ],
        }
    )


def _sides(diff: ReportDiff) -> Iterator[tuple[str, str]]:
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


def _lines(change: CaseChange) -> Iterator[str]:
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


def _side(side: Side) -> dict[str, object]:
    return {"name": side.name, "source": side.source, "sha256": side.sha256, "fingerprint": side.fingerprint}


def _outcome(result: CaseResult | None) -> dict[str, object] | None:
    if result is None:
        return None
    return {
        "status": str(result.status),
        "message": result.message,
        "ids": {"actual": list(result.actual), "expected": list(result.expected)},
    }


DIFF_FORMATS: Mapping[str, Callable[[ReportDiff, RenderOptions], str]] = {
    "table": _table,
    "json": _json,
    "markdown": _markdown,
}
"""Name -> how a comparison of two reports is written."""


def present(diff: ReportDiff) -> Presentation:
    """Return how a comparison is written."""
    return Presentation(bound(DIFF_FORMATS, diff), verdict(diff), diff.exit_code)
