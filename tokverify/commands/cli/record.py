"""`tokverify cases record`: record the ids of a reference in suites, as what the cases expect of a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from tokverify.case import SuiteSource
from tokverify.commands.cli.case_options import cases_option, selection_options
from tokverify.commands.cli.options import model_argument, no_color_option, output_option, reference_option
from tokverify.commands.cli.progress import ProgressBar
from tokverify.commands.cli.stream import render_options, write_text


@click.command()
@model_argument
@reference_option("whose ids to record")
@cases_option
@selection_options
@click.option("--name", metavar="NAME", help="The name to record the ids under (default: the name of MODEL).")
@output_option("copies of the suites.", metavar="DIR")
@no_color_option
def record(  # noqa: PLR0913 - one parameter for each option
    *,
    model: Path,
    reference: str | None,
    cases: Sequence[SuiteSource],
    suites: Sequence[str],
    tags: Sequence[str],
    patterns: Sequence[str],
    name: str | None,
    output: Path | None,
    no_color: bool,
) -> int:
    """Record the ids of MODEL's reference in suites.

    After that, `tokverify run MODEL` needs no reference: if every case has expectations for MODEL, it compares with
    those. Everything else in the suites is left unchanged. Without --cases, the ids are recorded in copies of the
    shipped suites, in the directory named with -o.

    The exit code is 0 if the ids of all cases were recorded, 1 if the reference cannot encode some cases, and 2 if it
    cannot encode any, or the command could not run.
    """
    from tokverify.case import SHIPPED
    from tokverify.commands.tasks.record import record_expectations
    from tokverify.render.recording import render
    from tokverify.report.record import recording_exit_code

    if SHIPPED in (cases or [SHIPPED]) and output is None:
        raise click.UsageError(
            "name the suites to record in with --cases, or a directory for copies of the shipped ones with -o"
        )
    with ProgressBar(enabled=True) as progress:
        recording = record_expectations(
            model,
            reference,
            cases=cases,
            suites=suites,
            tags=tags,
            patterns=patterns,
            name=name,
            output=output,
            on_progress=progress.update,
        )
    write_text(render(recording, render_options(no_color=no_color)))
    return recording_exit_code(recording)
