"""`tokverify report`: show saved reports in any format, and compare two."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokverify.cli.baseline import baseline_options, check_baseline
from tokverify.cli.options import PATH, report_options
from tokverify.cli.output import ReportOptions, check_reports, write_reports
from tokverify.errors import TokverifyError
from tokverify.render.kinds import FORMATS

if TYPE_CHECKING:
    Also = Mapping[Path, Callable[[], str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowOptions(ReportOptions):
    """What the user asked for."""

    baseline: Path | None
    update_baseline: bool
    reason: str | None


@click.group()
def report() -> None:
    """Show a saved report in any format, or compare two."""


@report.command()
@click.argument("file", type=PATH)
@baseline_options
@report_options(FORMATS["run"], "Matching cases and settings too, and nothing folded.")
def show(*, file: Path, **options: Any) -> int:  # noqa: ANN401 - one parameter for each option, by type in ShowOptions
    """Show a saved report in any format.

    FILE is the JSON report of `tokverify run`, `fuzz`, `diff`, `audit`, `chat` or `stats`, and the formats are those of
    that command.

    The exit code is that of the command that wrote the report. With --baseline, a report of `tokverify run` is judged
    by this baseline instead of the one that the run used.
    """
    from tokverify.render.kinds import SHOWN_KINDS, present
    from tokverify.report.codec import read, read_any
    from tokverify.report.run import Report
    from tokverify.tasks.run import apply_baseline

    wanted = ShowOptions(**options)
    check_reports(wanted, [file, wanted.baseline], [wanted.baseline])
    check_baseline(wanted)
    saved: object
    also: Also | None = None
    if wanted.baseline:
        kind = "run"
        saved, also = apply_baseline(
            read(file, Report), wanted.baseline, update=wanted.update_baseline, reason=wanted.reason
        )
    else:
        kind, saved = read_any(file, SHOWN_KINDS)
    shown = present(kind, saved)
    for name, _ in wanted.report_files(shown.formats):
        if name not in shown.formats:
            known = ", ".join(shown.formats)
            raise TokverifyError(f"{file}: is of `tokverify {kind}`, which has no format {name}; it has {known}")
    write_reports(wanted, shown, also)
    return shown.exit_code


@report.command()
@click.argument("old", type=PATH)
@click.argument("new", type=PATH)
@report_options(FORMATS["report diff"], "No more than without, as nothing is folded.")
def diff(*, old: Path, new: Path, **options: Any) -> int:  # noqa: ANN401 - likewise
    """Compare two saved reports and show what changed from OLD to NEW.

    Both are JSON reports of `tokverify run`.

    The exit code is 1 if a case fails in NEW that passed in OLD or was not there, else 0.
    """
    from tokverify.render.kinds import present
    from tokverify.report.codec import read
    from tokverify.report.run import Report
    from tokverify.verify.report_diff import compare_reports

    wanted = ReportOptions(**options)
    check_reports(wanted, [old, new])
    shown = present("report diff", compare_reports(read(old, Report), read(new, Report)))
    write_reports(wanted, shown)
    return shown.exit_code
