"""`tokverify versions`: which versions of a library produce which ids."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tokverify.case import SuiteSource
from tokverify.commands.cli.case_options import ASPECTS_HELP, cases_option, fail_on_option, selection_options
from tokverify.commands.cli.options import ModelCommand, model_argument, reference_option, report_options
from tokverify.commands.cli.output import ReportOptions, check_reports, write_reports
from tokverify.commands.cli.progress import ProgressBar
from tokverify.commands.cli.renamed import old_command
from tokverify.render.kinds import FORMATS, present
from tokverify.report.tokenizer_difference import FAIL_ON


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionsOptions(ReportOptions):
    """The options of the command."""

    model: Path | str
    reference: str | None
    environments: tuple[str, ...]
    cases: tuple[SuiteSource, ...]
    suites: tuple[str, ...]
    tags: tuple[str, ...]
    patterns: tuple[str, ...]
    fail_on: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixOptions(ReportOptions):
    """The options of `tokverify run` with several references."""

    model: Path | str
    references: tuple[str, ...]
    cases: tuple[SuiteSource, ...]
    suites: tuple[str, ...]
    tags: tuple[str, ...]
    patterns: tuple[str, ...]
    fail_on: tuple[str, ...] | None
    strict: bool


def compare_references(options: MatrixOptions) -> int:
    """Compare a model with each of several references, write the reports, and return the exit code."""
    from tokverify.cases.loading import select_cases
    from tokverify.commands.tasks.versions import compare_references

    check_reports(options, FORMATS["versions"], [options.model, *options.references, *options.cases])
    with ProgressBar(enabled=not options.quiet) as progress:
        report = compare_references(
            options.model,
            options.references,
            select_cases(options.cases, options.suites, options.tags, options.patterns),
            fail_on=FAIL_ON if options.fail_on is None else options.fail_on,
            strict=options.strict,
            options=options.as_recorded(),
            on_progress=progress.update,
        )
    return write_reports(options, present("versions", report))


@old_command("run MODEL -r REF -r env:PACKAGES")
@click.command(cls=ModelCommand)
@model_argument
@reference_option("to compare with", ": a tokenizer.json, a directory or hub id with one, or transformers:LOCATION")
@click.option(
    "--env",
    "environments",
    multiple=True,
    required=True,
    metavar="PACKAGES",
    help="The packages of an environment, such as tokenizers==0.21.0 or 'transformers==4.57.0 tiktoken'."
    " Can be repeated.",
)
@cases_option
@selection_options
@fail_on_option("differences between the tokenizers", ASPECTS_HELP)
@report_options(FORMATS["versions"])
def versions(**options: Any) -> int:  # noqa: ANN401 - one parameter for each option, by type in VersionsOptions
    """Show which versions of a library produce which ids.

    MODEL is compared with its reference as for `tokverify run`: once with the library that is installed, and once in
    each environment, which uv or pip creates on first use. Installing a package runs its code.

    The exit code is 0 if MODEL agrees with all versions, 1 if it differs from one, and 2 if a version could not be
    tried.
    """
    return _compare_versions(VersionsOptions(**options))


def _compare_versions(options: VersionsOptions) -> int:
    from tokverify.cases.loading import select_cases
    from tokverify.commands.tasks.versions import compare_library_versions

    check_reports(options, FORMATS["versions"], [options.model, options.reference, *options.cases])
    with ProgressBar(enabled=not options.quiet) as progress:
        report = compare_library_versions(
            options.model,
            options.environments,
            options.reference,
            select_cases(options.cases, options.suites, options.tags, options.patterns),
            fail_on=FAIL_ON if options.fail_on is None else options.fail_on,
            options=options.as_recorded(),
            on_progress=progress.update,
        )
    return write_reports(options, present("versions", report))
