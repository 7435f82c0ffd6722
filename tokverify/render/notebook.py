"""Show a report in a notebook as a terminal does, in color."""

from __future__ import annotations

from io import StringIO

from rich.console import Console
from rich.text import Text

from tokverify.render.kinds import FORMATS
from tokverify.render.options import RenderOptions
from tokverify.report.run import Report

_WIDTH = 100
_PRE = '<pre style="line-height: 1.25; white-space: pre; overflow-x: auto">{code}</pre>'


def draw_notebook(report: Report) -> str:
    """Return a report as HTML without scripts, whose styles are inline because notebooks drop others."""
    table = FORMATS["run"]["table"](report, RenderOptions(width=_WIDTH, color=True))
    console = Console(record=True, file=StringIO(), width=_WIDTH, force_terminal=True, color_system="standard")
    # A command may be wider than the terminal, as it must not be broken within an argument.
    console.print(Text.from_ansi(table), soft_wrap=True)
    return console.export_html(inline_styles=True, code_format=_PRE)
