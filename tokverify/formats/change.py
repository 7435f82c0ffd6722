"""The output formats of `tokverify diff`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.formats.presentation import Presentation, bound
from tokverify.formats.verdict import plural
from tokverify.formats.verdict import verdict as cases_verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokverify.change.part import Change, Part
    from tokverify.change.report import ChangeReport, Effect
    from tokverify.formats import RenderOptions

_MAX_VALUE = 200


def verdict(report: ChangeReport) -> str:
    """Sum up, such as `tokens: 2 added; 648 cases: 630 match, 18 mismatch`."""
    parts = [summary(part) for part in report.parts] or ["no part differs"]
    parts.append(cases_verdict(report.report))
    if report.fuzzed:
        parts.append(f"{report.fuzzed.failing:,} of {plural(report.fuzzed.strings, 'fuzzed string')} differ")
    if report.effect:
        parts.append(effect(report.effect))
    return "; ".join(parts)


def summary(part: Part) -> str:
    """Sum up a part, such as `tokens: 2 added, 1 removed`."""
    return f"{part.name}: {', '.join(f'{count:,} {kind}' for kind, count in part.counts.items())}"


def effect(found: Effect) -> str:
    """Sum up what a change does to a corpus."""
    lines = f"{share(found.changed_lines, found.lines)} of {plural(found.lines, 'line')}"
    tokens = f"{found.old_tokens:,} tokens before, {found.new_tokens:,} after"
    if found.old_tokens:
        tokens += f" ({(found.new_tokens - found.old_tokens) / found.old_tokens:+.2%})"
    return f"{lines} and {share(found.changed_bytes, found.bytes)} of the bytes of the corpus change, {tokens}"


def cut(value: str) -> str:
    """Leave out the end of what is too long for a cell of a table; `-f json` has it whole."""
    return value if len(value) <= _MAX_VALUE else f"{value[:_MAX_VALUE]}…"


def share(part: int, whole: int) -> str:
    """Write a share in percent; only nothing is 0 %, and only all is 100 %."""
    percent = 100 * part / whole if whole else 0.0
    if 0 < part < whole:
        percent = min(max(percent, 0.01), 99.99)
    return f"{percent:.2f}%"


def _table(report: ChangeReport, options: RenderOptions) -> str:
    from tokverify.formats.change_table import render

    return render(report, options)


def _markdown(report: ChangeReport, options: RenderOptions) -> str:
    from tokverify.formats.change_markdown import render

    return render(report, options)


def _json(report: ChangeReport, options: RenderOptions) -> str:  # noqa: ARG001 - the signature of every format
    from dataclasses import asdict

    from tokverify.formats.fuzz import document as fuzz_document
    from tokverify.formats.json import document, header, write

    return write(
        {
            **header("diff"),
            "versions": dict(sorted(report.versions.items())),
            "old": report.old.source,
            "new": report.new.source,
            "summary": {"exit_code": report.exit_code, "behaves_alike": report.behaves_alike},
            "not_compared": list(report.not_compared),
            "parts": [
                {"name": part.name, "counts": part.counts, "changes": [_change(change) for change in part.changes]}
                for part in report.parts
            ],
            "effect": asdict(report.effect) if report.effect else None,
            "run": document(report.report),
            "fuzz": fuzz_document(report.fuzzed) if report.fuzzed else None,
        }
    )


def _change(change: Change) -> dict[str, object]:
    return change._asdict()


CHANGE_FORMATS: Mapping[str, Callable[[ChangeReport, RenderOptions], str]] = {
    "table": _table,
    "json": _json,
    "markdown": _markdown,
}


def present(report: ChangeReport) -> Presentation:
    """Return how what changed is written."""
    return Presentation(bound(CHANGE_FORMATS, report), verdict(report), report.exit_code)
