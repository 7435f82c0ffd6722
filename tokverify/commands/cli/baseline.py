"""The options for known failures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from tokverify.commands.cli.locations import PATH
from tokverify.commands.cli.output import ReportOptions
from tokverify.commands.cli.parameters import option
from tokverify.commands.project.configuration import ACCEPTED
from tokverify.system.output_file import check_writable

baseline_option = partial(
    option,
    "--baseline",
    type=PATH,
    metavar="FILE",
    help=f"Accept what this file lists (default: {ACCEPTED}, if there is one).",
)


@dataclass(frozen=True, kw_only=True)
class BaselineOptions(ReportOptions):
    """The options of a command that accepts known failures."""

    baseline: Path | None = baseline_option()
    update_baseline: bool = option(
        "--accept",
        "--update-baseline",
        is_flag=True,
        recorded=False,
        help="Rewrite that file to accept exactly what fails now.",
    )
    reason: str | None = option(
        "--reason", metavar="TEXT", recorded=False, help="The reason for the new entries that --accept adds."
    )


def check_baseline(options: BaselineOptions) -> None:
    """Check that the options for known failures fit together, and that the file can be written if necessary.

    Raises:
        UsageError: If an option requires another one.
        TokverifyError: As `check_writable` does.
    """
    if options.update_baseline and options.baseline is None:
        raise click.UsageError("--accept requires --baseline, which names the file to write")
    if options.reason is not None:
        _check_reason(options)
    if options.update_baseline and options.baseline:
        check_writable(options.baseline)


def _check_reason(options: BaselineOptions) -> None:
    reason = options.reason or ""
    if not options.update_baseline:
        raise click.UsageError("--reason requires --accept")
    if not reason.strip() or not reason.isprintable():
        raise click.UsageError("--reason must be a non-empty line without control characters")
