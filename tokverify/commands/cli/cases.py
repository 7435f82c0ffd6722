"""`tokverify cases`: list cases, check suites, and record expectations in them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from tokverify.case import SHIPPED, SuiteSource
from tokverify.commands.cli.case_options import SUITES, CaseOptions, SelectionOptions
from tokverify.commands.cli.options import (
    json_option,
    model_argument,
    no_color_option,
    output_option,
    reference_option,
    verbose_option,
)
from tokverify.commands.cli.parameters import argument, named, option, takes
from tokverify.commands.cli.progress import ProgressBar
from tokverify.commands.cli.stream import render_options, write_text
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural


@dataclass(frozen=True, kw_only=True)
class RecordOptions(CaseOptions):
    """The options of `tokverify cases record`."""

    model: Path | str = model_argument()
    reference: str | None = reference_option("whose ids to record")
    name: str | None = option(
        "--name", metavar="NAME", help="The name to record the ids under (default: the name of MODEL)."
    )
    output: Path | None = output_option("copies of the suites.", metavar="DIR")
    no_color: bool = no_color_option()


@click.command()
@takes(RecordOptions)
def record(options: RecordOptions) -> int:
    """Record the ids of MODEL's reference in suites.

    After that, `tokverify run MODEL` needs no reference: without one beside MODEL, it compares with these expectations
    if every case has some. Everything else in the suites is left unchanged. Without --cases, the ids are recorded in
    copies of the shipped suites, in the directory named with -o.

    The exit code is 0 if the ids of all cases were recorded, 1 if the reference cannot encode some cases, and 2 if it
    cannot encode any, or the command could not run.
    """
    from tokverify.commands.tasks.record import record_expectations
    from tokverify.render.recording import render
    from tokverify.report.record import recording_exit_code

    if SHIPPED in (options.cases or [SHIPPED]) and options.output is None:
        raise click.UsageError(
            "name the suites to record in with --cases, or a directory for copies of the shipped ones with -o"
        )
    with ProgressBar(enabled=True) as progress:
        recording = record_expectations(
            options.model,
            options.reference,
            cases=options.cases,
            suites=options.suites,
            tags=options.tags,
            patterns=options.patterns,
            name=options.name,
            output=options.output,
            on_progress=progress.update,
        )
    write_text(render(recording, render_options(no_color=options.no_color)))
    return recording_exit_code(recording)


@click.group()
def cases() -> None:
    """List cases, check suites, or record what they expect."""


@dataclass(frozen=True, kw_only=True)
class ListOptions(SelectionOptions):
    """The options of `tokverify cases list`."""

    paths: tuple[SuiteSource, ...] = argument(nargs=-1, type=SUITES)
    format_name: str | None = json_option()
    verbose: bool = verbose_option()
    no_color: bool = no_color_option()


@cases.command("list")
@takes(ListOptions)
def list_(options: ListOptions) -> None:
    """List the cases in suites.

    PATHS are suites or directories of suites; by default the `shipped` ones, which come with tokverify.
    """
    selected = options.select_from(options.paths)
    if options.format_name == "json":
        write_text(json.dumps([asdict(case) for case in selected], indent=2) + "\n")
        return
    from tokverify.render.listing import list_cases

    write_text(list_cases(selected, render_options(no_color=options.no_color, verbose=options.verbose)))


@cases.command()
@named(paths=argument(nargs=-1, type=SUITES))
def check(*, paths: Sequence[SuiteSource]) -> None:
    """Check suites for mistakes.

    PATHS are suites or directories of suites; by default those of the configured models or, if there are none, the
    `shipped` ones, which come with tokverify. Mistakes are reported as errors, with file and line. Anything that is
    allowed but probably unintended is reported as a hint.
    """
    from tokverify.cases.loading import load_suites
    from tokverify.commands.project.configuration_reader import find_configuration

    if not paths and (configuration := find_configuration(Path.cwd())):
        paths = list(dict.fromkeys(suite for model in configuration.models for suite in model.cases))
    suites = load_suites(paths or None)
    for suite in suites:
        for hint in suite.hints:
            write_text(f"hint: {visible_message(hint)}\n")
    count = sum(len(suite.cases) for suite in suites)
    write_text(f"{plural(count, 'case')} in {plural(len(suites), 'suite')}: no errors\n")


cases.add_command(record)
