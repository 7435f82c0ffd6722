"""The `markdown` format of `tokverify diff`, for a comment on a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.formats.change import cut, effect, summary, verdict
from tokverify.formats.markdown import render as render_cases
from tokverify.formats.markdown_text import cell_code, details, joined, prose, table
from tokverify.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokverify.change.part import Part
    from tokverify.change.report import ChangeReport
    from tokverify.formats import RenderOptions

_EXAMPLES = 50


def render(report: ChangeReport, options: RenderOptions) -> str:
    """Write what changed as Markdown."""
    return joined(_sections(report, options))


def _sections(report: ChangeReport, options: RenderOptions) -> Iterator[str]:
    yield f"## {'❌' if report.exit_code else '✅'} {prose(report.old.source)} → {prose(report.new.source)}\n"
    yield f"**{prose(verdict(report))}**\n"
    if options.quiet:
        return
    for reason in report.not_compared:
        yield f"Not all is compared: {prose(reason)}\n"
    for part in report.parts:
        yield details(visible(summary(part), mark_spaces=False), _part(part, options))
    if report.effect:
        yield f"{prose(effect(report.effect))}\n"
    yield render_cases(report.report, options)
    if report.fuzzed and report.fuzzed.failing:
        yield render_cases(report.fuzzed.report, options)


def _part(part: Part, options: RenderOptions) -> str:
    shown = part.changes if options.verbose else part.changes[:_EXAMPLES]
    rows = [(c.kind, *(_cell(value) for value in (c.what, c.old, c.new))) for c in shown]
    left = len(part.changes) - len(shown)
    return table(("", "", "old", "new"), rows) + (f"\nand {left:,} more\n" if left else "")


def _cell(value: str | None) -> str:
    return "" if value is None else cell_code(visible(cut(value)))
