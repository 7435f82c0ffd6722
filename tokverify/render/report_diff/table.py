"""What changed from one report to the next, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from tokverify.render.layout import DIM, draw, labeled, words
from tokverify.render.report_diff import TITLES, lines, sides, verdict
from tokverify.verify.report_diff import Kind

if TYPE_CHECKING:
    from tokverify.render import RenderOptions
    from tokverify.verify.report_diff import ReportDiff

_STYLES = {
    Kind.FAILED: "bold red",
    Kind.NEW_FAILED: "bold red",
    Kind.CHANGED: "bold yellow",
    Kind.FIXED: "bold green",
}


def render(diff: ReportDiff, options: RenderOptions) -> str:
    """Write what changed, by kind; the last line is the verdict."""
    last = words(verdict(diff), "bold red" if diff.exit_code else "bold green")
    if options.quiet:
        return draw([last], options)
    compared = labeled((label, words(told)) for label, told in sides(diff))
    return draw([compared, *(_section(diff, kind) for kind in Kind if diff.of(kind)), last], options)


def _section(diff: ReportDiff, kind: Kind) -> Group:
    shown = [
        line
        for change in diff.of(kind)
        for line in (("", words(change.name, "bold")), *(("", Text(f"  {told}", DIM)) for told in lines(change)))
    ]
    return Group(Text(TITLES[kind].upper(), _STYLES.get(kind, "bold")), labeled(shown, indent=2))
