"""`tokverify check`: everything that is configured, with one verdict and one report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tokverify.case import SuiteSource
from tokverify.commands.cli.build_option import llama_cpp_option
from tokverify.commands.cli.case_options import (
    ASPECTS_HELP,
    BaselineOptions,
    baseline_options,
    cases_option,
    check_baseline,
    fail_on_option,
    max_failures_options,
    strict_option,
    waivers_option,
)
from tokverify.commands.cli.configured import choose_models, override_settings
from tokverify.commands.cli.options import ModelCommand, jobs_option, models_argument, reference_option, report_options
from tokverify.commands.cli.output import (
    ReportFile,
    ReportOptions,
    check_places,
    check_reports,
    render_to,
    write_reports,
)
from tokverify.commands.cli.progress import ProgressBar
from tokverify.commands.project.configuration_file import OPTION
from tokverify.render.kinds import FORMATS, present
from tokverify.report.check import Part

if TYPE_CHECKING:
    from tokverify.commands.tasks.check import CheckRequest
    from tokverify.report.check import CheckReport

_Options = TypeVar("_Options", bound=ReportOptions)
_PLACEHOLDER = "{name}"
"""Stands for the name of a model in the path of a report, of which there is then one for each model."""


def check_several(
    options: ReportOptions, requests: Sequence[CheckRequest], jobs: int, *, reason: str | None = None
) -> int:
    """Check models, write the reports that the options name, and return the exit code.

    `reason` is that of new entries in the baselines that requests ask to rewrite.
    """
    from tokverify.commands.tasks.check import check_models, update_baselines

    models = [request.model for request in requests]
    inputs = [
        path
        for model in models
        for path in (model.model, model.reference, *model.cases, model.baseline, model.waivers, model.conversations)
    ]
    baselines = [request.model.baseline for request in requests if request.update_baseline]
    shared, own = _split_reports(options)
    check_reports(shared, FORMATS["check"], inputs, baselines)
    for model in models:
        check_places(name_reports(own, model.name), FORMATS["run"], inputs, [*shared.output_files(), *baselines])
    with ProgressBar(enabled=not options.quiet) as progress:
        report = check_models(requests, progress.update, jobs=jobs)
    files: Mapping[Path, Callable[[], str]] = {}
    if baselines:
        report, files = update_baselines(requests, report, reason)
    recorded = options.as_recorded()
    if "model" in recorded:
        recorded["model"] = [model.model.text for model in models]
    shown = present("check", replace(report, options=recorded))
    return write_reports(shared, shown, files, _render_each(options, own, report))


def insert_name(options: _Options, name: str) -> _Options:
    """Return options in which the paths of reports contain the name of a model."""
    return replace(
        options,
        output=options.output and _insert(options.output, name),
        reports=tuple(name_reports(options.reports, name)),
    )


def _insert(path: Path, name: str) -> Path:
    return Path(str(path).replace(_PLACEHOLDER, name))


def _split_reports(options: _Options) -> tuple[_Options, list[ReportFile]]:
    """Return the options without the reports that each model has of its own, and these reports."""
    own = [report for report in options.report_files() if _PLACEHOLDER in str(report.path)]
    shared = replace(options, reports=tuple(report for report in options.reports if report not in own))
    if _PLACEHOLDER in str(options.output):
        shared = replace(shared, output=None, format_name=None)
    return shared, own


def name_reports(reports: Iterable[ReportFile], name: str) -> list[ReportFile]:
    """Return reports whose paths contain the name of a model."""
    return [report._replace(path=report.path and _insert(report.path, name)) for report in reports]


def _render_each(
    options: ReportOptions, own: Iterable[ReportFile], report: CheckReport
) -> Mapping[Path, Callable[[], str]]:
    """Return the functions that render the reports of single runs, by file; without a result, there is none."""
    own = list(own)
    return {
        path: partial(render_to, path, options, present("run", model.run), format)
        for model in report.models
        if model.run
        for format, path in name_reports(own, model.name)
        if path
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions(BaselineOptions):
    """The options of the command."""

    models: tuple[Path | str, ...]
    reference: str | None
    cases: tuple[SuiteSource, ...]
    waivers: Path | None
    fail_on: tuple[str, ...] | None
    only: tuple[str, ...]
    strict: bool
    max_failures: int | None
    allow_outside: bool


@click.command(cls=ModelCommand)
@models_argument(required=False)
@reference_option("to compare with")
@cases_option
@baseline_options
@llama_cpp_option
@waivers_option
@fail_on_option("differences and findings", ASPECTS_HELP, default="error; for `chat`, warning")
@strict_option
@click.option(
    "--only",
    multiple=True,
    type=click.Choice([str(part) for part in Part]),
    help="Perform only this part. Can be repeated.",
)
@max_failures_options
@jobs_option(1)
@click.option(OPTION, is_flag=True, help="Let the configuration name files outside of its repository.")
@report_options(FORMATS["check"])
def check(*, jobs: int, **options: Any) -> int:  # noqa: ANN401 - the rest of the options is in CheckOptions
    """Perform run, audit and chat as configured, with one verdict.

    This is the command for CI. MODEL is a file, a directory or a pattern of GGUF files, a name such as
    hf:org/name:Q4_K_M or hf:org/*, or the name of a configured model; without any, all models in tokverify.toml or
    pyproject.toml are checked. The exit code is 0 if all parts pass, 1 if one fails, and 2 if one
    could not be performed. --accept lists what fails now, by cause, so that from now on only what is new fails.
    """
    from tokverify.commands.tasks.check import CheckRequest

    chosen = CheckOptions(**options)
    models, _ = choose_models(chosen.models, allow_outside=chosen.allow_outside, accepts=chosen.update_baseline)
    if chosen.update_baseline and (chosen.only or chosen.max_failures):
        raise click.UsageError("--accept needs all results; remove --only, --maxfail or --fail-fast")
    requests = [
        CheckRequest(
            model=override_settings(model, options),
            parts=[Part(name) for name in chosen.only] or list(Part),
            max_failures=chosen.max_failures,
            update_baseline=chosen.update_baseline,
            options=chosen.as_recorded(),
        )
        for model in models
    ]
    for request in requests:
        check_baseline(replace(chosen, baseline=request.model.baseline))
    return check_several(chosen, requests, jobs, reason=chosen.reason)
