"""`tokverify run` without a model: verify all configured models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokverify.commands.cli.options import parse_report_file
from tokverify.commands.cli.output import STDOUT, ReportFile, write_reports
from tokverify.commands.cli.progress import ProgressBar
from tokverify.commands.cli.run_options import RunOptions
from tokverify.commands.cli.stream import render_options, write_error, write_stderr, write_text
from tokverify.commands.project.configuration import Configuration, ConfiguredModel
from tokverify.commands.project.configuration_file import FILE
from tokverify.commands.project.configuration_reader import find_configuration
from tokverify.commands.project.trust import repository_of, require_inside
from tokverify.errors import TokverifyError
from tokverify.render.kinds import FORMATS, present
from tokverify.system.relative_path import relative_path

if TYPE_CHECKING:
    from tokverify.commands.tasks.matrix import ModelResult

_PLACEHOLDER = "{name}"
_CANNOT_RUN = 2


def run_configured(given: Mapping[str, Any], jobs: int, *, allow_outside: bool) -> int:
    """Verify the configured models and return the highest exit code.

    Args:
        given: The command-line options, which override the configuration.
        jobs: The number of models to verify in parallel; None for the configured number.
        allow_outside: Whether the configuration may name files outside of its repository.
    """
    from tokverify.commands.tasks.matrix import run_all

    configuration = find_configuration(Path.cwd(), allow_outside=allow_outside)
    if configuration is None:
        raise click.UsageError(f"name a MODEL, or configure models in {FILE}; `tokverify init` creates that file")
    plans = {model.name: _merge_options(given, model, configuration) for model in configuration.models}
    for options in plans.values():
        options.check()
    requests = [options.request() for options in plans.values()]
    with ProgressBar(enabled=not given["quiet"]) as progress:
        outcomes = list(run_all(requests, jobs=jobs or configuration.jobs, on_progress=progress.update))
    results = dict(zip(plans, outcomes, strict=True))
    exit_codes = [_write(name, plans[name], result) for name, result in results.items()]
    if len(plans) > 1:
        _write_summary(results, next(iter(plans.values())))
    return max(exit_codes)


def _merge_options(given: Mapping[str, Any], model: ConfiguredModel, configuration: Configuration) -> RunOptions:
    """Combine the options of the command line with those configured for a model."""
    configured = {
        "reference": model.reference,
        "cases": model.cases,
        "suites": model.suites,
        "tags": model.tags,
        "patterns": model.patterns,
        "baseline": model.baseline,
        "strict": model.strict,
        "reports": _configured_reports(configuration),
    }
    chosen = {key: given.get(key) or value for key, value in configured.items()}
    # An empty list is a choice: nothing fails but cases.
    chosen["fail_on"] = model.fail_on if given.get("fail_on") is None else given["fail_on"]
    options = RunOptions(**{**given, **chosen, "model": model.model})
    several = len(configuration.models) > 1
    reports = tuple(
        report._replace(path=report.path and _insert_name(report.path, model.name, several=several))
        for report in options.reports
    )
    if not given.get("reports"):
        _require_inside(reports, configuration)
    return replace(
        options,
        output=options.output and _insert_name(options.output, model.name, several=several),
        reports=reports,
    )


def _require_inside(reports: Sequence[ReportFile], configuration: Configuration) -> None:
    root = repository_of(configuration.source)
    for report in reports:
        if report.path:
            require_inside(report.path, root)


def _configured_reports(configuration: Configuration) -> tuple[ReportFile, ...]:
    """Parse the configured reports, whose paths are relative to the configuration."""
    try:
        reports = [parse_report_file(value, list(FORMATS["run"])) for value in configuration.reports]
    except click.BadParameter as error:
        raise TokverifyError(f"{configuration.source}: reports: {error.message}") from error
    directory = configuration.source.parent
    return tuple(
        report._replace(path=report.path and Path(relative_path(directory / report.path))) for report in reports
    )


def _insert_name(path: Path, name: str, *, several: bool) -> Path:
    """Insert the name of a model into the path of a report."""
    if several and path != STDOUT and _PLACEHOLDER not in str(path):
        raise click.UsageError(
            f"{path}: there are several models; write {_PLACEHOLDER} in the path for the name of the model"
        )
    return Path(str(path).replace(_PLACEHOLDER, name))


def _write(name: str, options: RunOptions, result: ModelResult) -> int:
    if isinstance(result, TokverifyError):
        write_error(result, f"{name}: ")
        return _CANNOT_RUN
    report, files = result
    return write_reports(options, present("run", report), files)


def _write_summary(results: Mapping[str, ModelResult], options: RunOptions) -> None:
    """Summarize all models where people read stdout: tables, or annotations in a log."""
    on_stdout = {format for format, path in options.report_files() if path is None}
    if on_stdout.isdisjoint({"table", "github"}):
        return
    from tokverify.render.matrix import render

    reports = {name: None if isinstance(result, TokverifyError) else result.report for name, result in results.items()}
    text = "\n" + render(reports, render_options(no_color=options.no_color))
    if "table" in on_stdout:
        write_text(text)
    elif not options.quiet:
        write_stderr(text.rstrip("\n"))
