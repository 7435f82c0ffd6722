"""What changed from one report to the next, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.render.markdown_text import document, escaped, mark, prose, table
from tokverify.render.report_diff import TITLES, lines, sides, verdict
from tokverify.verify.report_diff import Kind

if TYPE_CHECKING:
    from tokverify.render import RenderOptions
    from tokverify.verify.report_diff import CaseChange, ReportDiff


def render(diff: ReportDiff, options: RenderOptions) -> str:
    """Write what changed as Markdown, or as much of it as fits the limit."""
    heading = f"{mark(diff.exit_code)} tokverify: what changed"
    return document(heading, verdict(diff), _sections(diff), options)


def _sections(diff: ReportDiff) -> Iterator[str]:
    yield table(("", ""), [(label, prose(told)) for label, told in sides(diff)])
    for kind in Kind:
        if items := "".join(map(_item, diff.of(kind))):
            yield f"### {TITLES[kind].capitalize()}\n\n{items}"


def _item(change: CaseChange) -> str:
    return f"- **{prose(change.name)}**{''.join(f'<br>{escaped(told)}' for told in lines(change))}\n"
