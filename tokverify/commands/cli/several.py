"""Verify or audit several models with one report for all of them, which is that of `tokverify check`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tokverify.commands.cli.output import (
    ReportFile,
    ReportOptions,
    check_places,
    check_reports,
    render_to,
    write_reports,
)
from tokverify.commands.cli.progress import READING, ProgressBar
from tokverify.render.kinds import present
from tokverify.text.wording import plural

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
    check_reports(shared, inputs, baselines)
    for model in models:
        check_places(name_reports(own, model.name), inputs, [*shared.output_files(), *baselines])
    # Processes that check several models at a time do not say how far they are.
    first = READING if jobs == 1 or len(models) == 1 else f"checking {plural(len(models), 'model')}"
    with ProgressBar(enabled=not options.quiet, first=first, then="looking for causes") as progress:
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
