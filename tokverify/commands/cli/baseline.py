"""The options for known failures."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import click

from tokverify.commands.cli.locations import PATH
from tokverify.commands.cli.options import combine
from tokverify.commands.cli.output import UNRECORDED, ReportOptions
from tokverify.commands.project.configuration import ACCEPTED
from tokverify.system.output_file import check_writable

baseline_option = click.option(
    "--baseline",
    type=PATH,
    metavar="FILE",
    help=f"Accept what this file lists (default: {ACCEPTED}, if there is one).",
)
baseline_options = combine(
    baseline_option,
    click.option(
        "--accept",
        "--update-baseline",
        "update_baseline",
        is_flag=True,
        help="Rewrite that file to accept exactly what fails now.",
    ),
    click.option("--reason", metavar="TEXT", help="The reason for the new entries that --accept adds."),
)
"""For known failures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineOptions(ReportOptions):
    """The options of a command that accepts known failures."""

    baseline: Path | None
    update_baseline: bool = field(metadata=UNRECORDED)
    reason: str | None = field(metadata=UNRECORDED)


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
