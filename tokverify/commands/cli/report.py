"""`tokverify report`: show saved reports in any format, compare two, and check certificates."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from tokverify.commands.cli.case_options import BaselineOptions, check_baseline
from tokverify.commands.cli.locations import PATH
from tokverify.commands.cli.options import model_argument, reference_option, report_options
from tokverify.commands.cli.output import ReportOptions, check_reports, write_reports
from tokverify.commands.cli.parameters import argument, named, takes
from tokverify.commands.cli.stream import write_text
from tokverify.render.kinds import SHOWN_KINDS, present
from tokverify.text.visible import visible_message


@dataclass(frozen=True, kw_only=True)
class ShowOptions(BaselineOptions):
    """The options of `tokverify report show`."""

    file: Path = argument(type=PATH)


@click.group()
def report() -> None:
    """Show a saved report in any format, or compare two.

    `verify` checks a certificate that `tokverify run --certificate` has written.
    """


@report.command()
@takes(ShowOptions)
@report_options()
def show(options: ShowOptions) -> int:
    """Show a saved report in any format.

    FILE is the JSON report of any command that has the option --report, except `report diff`.

    The exit code is that of the command that wrote the report. With --baseline, which requires a report of
    `tokverify run`, that baseline replaces the one that the run used.
    """
    from tokverify.commands.tasks.report import apply_baseline
    from tokverify.report.codec import read_any

    check_reports(options, [options.file, options.baseline], [options.baseline])
    check_baseline(options)
    if options.baseline:
        result = apply_baseline(options.file, options.baseline, update=options.update_baseline, reason=options.reason)
        return write_reports(options, present("run", result.report), result.files)
    kind, saved = read_any(options.file, SHOWN_KINDS)
    return write_reports(options, present(kind, saved))


@dataclass(frozen=True, kw_only=True)
class DiffOptions(ReportOptions):
    """The options of `tokverify report diff`."""

    old: Path = argument(type=PATH)
    new: Path = argument(type=PATH)


@report.command()
@takes(DiffOptions)
@report_options()
def diff(options: DiffOptions) -> int:
    """Compare two saved reports and show what changed from OLD to NEW.

    Both are JSON reports of `tokverify run`. The exit code is 1 if a case or a difference between the tokenizers fails
    in NEW but not in OLD, 2 if the command could not run, and otherwise 0.
    """
    from tokverify.commands.tasks.report import diff_reports

    check_reports(options, [options.old, options.new])
    return write_reports(options, present("report diff", diff_reports(options.old, options.new)))


@report.command()
@named(file=argument(type=PATH), model=model_argument(), reference=reference_option("whose digest to compare as well"))
def verify(*, file: Path, model: Path | str, reference: str | None) -> int:
    """Check whether a certificate of `tokverify run` still holds for MODEL.

    FILE is what `tokverify run --certificate` wrote. The digests of MODEL are computed again, and no text is encoded.
    The exit code is 0 if the certificate holds, and its run has passed; 1 if not; and 2 if a file could not be read.
    """
    from tokverify.commands.tasks.report import verify_certificate

    check = verify_certificate(file, model, reference)
    for problem in check.problems:
        write_text(visible_message(f"problem: {problem}") + "\n")
    for note in check.notes:
        write_text(visible_message(f"note: {note}") + "\n")
    write_text(visible_message(f"{file}: {'does not hold' if check.problems else 'holds'}") + "\n")
    write_text(visible_message(check.summary) + "\n")
    return check.exit_code
