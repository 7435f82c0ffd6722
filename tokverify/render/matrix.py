"""How several models fared, one a line, for a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.text import Text

from tokverify.render.layout import DIM, draw, table, words
from tokverify.render.run.verdict import caveat
from tokverify.report.run import Status
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.render import RenderOptions
    from tokverify.report.run import Report

_VERDICTS = {0: ("ok", "green"), 1: ("fails", "bold red"), 2: ("could not run", "bold yellow")}
_FAILED = 2


def render(reports: Mapping[str, Report | None], options: RenderOptions) -> str:
    """Write a table of models; a report that is None could not be made."""
    shown_statuses = [
        status for status in Status if any(report and report.count(status) for report in reports.values())
    ]
    shown = table(("model", "left"), *((str(status), "right") for status in shown_statuses), ("", "left"))
    codes = list(map(_exit_code, reports.values()))
    for name, report in reports.items():
        counts = [report.count(status) if report else 0 for status in shown_statuses]
        cells = [Text(f"{count:,}") if count else Text("-", DIM) for count in counts]
        shown.add_row(words(name), *cells, _verdict(report))
    passed = codes.count(0)
    style = "bold green" if passed == len(codes) else "bold red"
    return draw([shown, Text(f"{plural(len(codes), 'model')}: {passed:,} ok", style)], options)


def _exit_code(report: Report | None) -> int:
    return _FAILED if report is None else report.exit_code


def _verdict(report: Report | None) -> Text:
    """Tell how a model fared; who reads no more than `ok` must know of a reference that proves little."""
    word, style = _VERDICTS[_exit_code(report)]
    told = caveat(report) if report and report.exit_code == 0 else ""
    return Text.assemble((word, style), words(f", {told}" if told else "", "yellow"), overflow="fold")
