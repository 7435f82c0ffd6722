"""`tokverify run` without a model: verify all that the configuration names, one by one or several at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokverify.cli.options import report_file
from tokverify.cli.output import STDOUT, render_options, tell, write_reports, write_text
from tokverify.cli.run_options import RunOptions
from tokverify.errors import TokverifyError
from tokverify.project.configuration import FILE, find_configuration
from tokverify.render import FORMATS, present
from tokverify.text.visible import visible_message

if TYPE_CHECKING:
    from tokverify.cli.baseline import Outcome
    from tokverify.cli.output import ReportFile
    from tokverify.project.configuration import Configuration, ConfiguredModel

    Result = Outcome | TokverifyError

_PLACEHOLDER = "{name}"
_FAILED = 2


def run_configured(given: Mapping[str, Any], jobs: int | None) -> int:
    """Verify the configured models; the exit code is the highest of theirs.

    Args:
        given: The options of the command line, which go before those of the configuration.
        jobs: How many models to verify at a time; None for what the configuration says.
    """
    configuration = find_configuration(Path.cwd())
    if configuration is None:
        raise click.UsageError(f"name a MODEL, or write a {FILE} that names some; `tokverify init` writes one")
    plans = {model.name: _options(given, model, configuration) for model in configuration.models}
    for options in plans.values():
        options.check()
    results = dict(zip(plans, _results([*plans.values()], jobs or configuration.jobs), strict=True))
    exit_codes = [_write(name, plans[name], result) for name, result in results.items()]
    if len(plans) > 1:
        _sum_up(results, next(iter(plans.values())))
    return max(exit_codes)


def _options(given: Mapping[str, Any], model: ConfiguredModel, configuration: Configuration) -> RunOptions:
    configured = {
        "reference": model.reference,
        "cases": model.cases,
        "suites": model.suites,
        "tags": model.tags,
        "patterns": model.patterns,
        "baseline": model.baseline,
        "reports": _reports(configuration),
    }
    chosen = {key: given.get(key) or value for key, value in configured.items()}
    options = RunOptions(**{**given, **chosen, "model": model.model})
    several = len(configuration.models) > 1
    return replace(
        options,
        output=options.output and _named(options.output, model.name, several=several),
        reports=tuple(
            report._replace(path=report.path and _named(report.path, model.name, several=several))
            for report in options.reports
        ),
    )


def _reports(configuration: Configuration) -> tuple[ReportFile, ...]:
    """Read the configured reports, whose paths begin at the directory of the configuration."""
    try:
        reports = [report_file(value, list(FORMATS)) for value in configuration.reports]
    except click.BadParameter as error:
        raise TokverifyError(f"{configuration.source}: reports: {error.message}") from error
    directory = configuration.source.parent
    return tuple(
        report._replace(path=report.path and Path(os.path.relpath(directory / report.path))) for report in reports
    )


def _named(path: Path, name: str, *, several: bool) -> Path:
    """Put a model's name into the name of a report."""
    if several and path != STDOUT and _PLACEHOLDER not in str(path):
        raise click.UsageError(f"{path}: several models are verified; write {_PLACEHOLDER} where their names go")
    return Path(str(path).replace(_PLACEHOLDER, name))


def _results(plans: Sequence[RunOptions], jobs: int) -> Iterator[Result]:
    if jobs == 1 or len(plans) == 1:
        yield from map(_carried_out, plans)
        return
    from tokverify.system.worker_pool import worker_pool

    with worker_pool(min(jobs, len(plans))) as pool:
        # Several progress bars would write over each other.
        quiet = [replace(options, quiet=True) for options in plans]
        futures = [pool.submit(_carried_out, options) for options in quiet]
        for future in futures:
            yield future.result()


def _carried_out(options: RunOptions) -> Result:
    """Verify one model; an error must not keep the others from being verified."""
    try:
        return options.carry_out()
    except TokverifyError as error:
        return error
    except OSError as error:
        # Such as a name that is too long, which looking for a file already raises.
        return TokverifyError(f"{error.filename or options.model}: {error.strerror}; check the path")


def _write(name: str, options: RunOptions, result: Result) -> int:
    if isinstance(result, TokverifyError):
        for line in str(result).split("\n"):
            tell(f"error: {name}: {visible_message(line)}")
        return _FAILED
    report, also = result
    write_reports(options, present(report), also)
    return report.exit_code


def _sum_up(results: Mapping[str, Result], options: RunOptions) -> None:
    """Tell how each model fared, where people read what is on stdout: tables, or annotations in a log."""
    on_stdout = {format for format, path in options.files(FORMATS) if path is None}
    if on_stdout.isdisjoint({"table", "github"}):
        return
    from tokverify.render.matrix import render

    reports = {name: None if isinstance(result, TokverifyError) else result.report for name, result in results.items()}
    text = "\n" + render(reports, render_options(no_color=options.no_color))
    if "table" in on_stdout:
        write_text(text)
    elif not options.quiet:
        tell(text.rstrip("\n"))
