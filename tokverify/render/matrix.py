"""Describe the results of several models, one per line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tokverify.render.document import Column, Document, Inline, Section, Style, Table, message
from tokverify.render.draw_table import draw_table
from tokverify.render.run.verdict import caveat
from tokverify.report.run import Report, Status
from tokverify.report.run_summary import count_status, run_exit_code
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.render.options import RenderOptions

_OUTCOMES = {0: ("ok", Style.EXPECTED), 1: ("fails", Style.BAD), 2: ("could not run", Style.WARNING)}
_FAILED = 2


def render(reports: Mapping[str, Report | None], options: RenderOptions) -> str:
    """Draw a table of models; a report is None if its model could not be verified."""
    codes = list(map(_exit_code, reports.values()))
    passed = codes.count(0)
    document = Document(
        title="tokverify: several models",
        verdict=f"{plural(len(codes), 'model')}: {passed:,} ok",
        exit_code=int(passed != len(codes)),
        sections=[Section([_table(reports)])],
    )
    return draw_table(document, options)


def _table(reports: Mapping[str, Report | None]) -> Table:
    known = [report for report in reports.values() if report]
    statuses = [status for status in Status if any(count_status(report, status) for report in known)]
    columns = [Column("model"), *(Column(str(status), is_number=True) for status in statuses), Column("")]
    return Table(columns, [_row(name, report, statuses) for name, report in reports.items()])


def _row(name: str, report: Report | None, statuses: Sequence[Status]) -> list[Inline]:
    counts = [count_status(report, status) if report else 0 for status in statuses]
    cells = [f"{count:,}" if count else message("-", Style.DIM) for count in counts]
    return [message(name), *cells, _outcome(report)]


def _exit_code(report: Report | None) -> int:
    return _FAILED if report is None else run_exit_code(report)


def _outcome(report: Report | None) -> Inline:
    """Summarize the result of a model; `ok` alone would hide that a reference proves little."""
    code = _exit_code(report)
    word, style = _OUTCOMES[code]
    reservation = caveat(report) if report and code == 0 else ""
    return [message(word, style), message(f", {reservation}" if reservation else "", Style.NOTICE)]
