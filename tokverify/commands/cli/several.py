"""Verify or audit several models with one report for all of them, which is that of `tokverify check`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tokverify.case import SuiteSource
from tokverify.commands.cli.output import ReportOptions, check_reports, write_reports
from tokverify.commands.cli.progress import ProgressBar
from tokverify.render.kinds import FORMATS, present

if TYPE_CHECKING:
    from tokverify.commands.project.configuration import ConfiguredModel
    from tokverify.commands.tasks.check import CheckRequest


def check_several(options: ReportOptions, requests: Sequence[CheckRequest], jobs: int) -> int:
    """Check models, write the reports that the options name, and return the exit code."""
    from tokverify.commands.tasks.check import check_models

    models = [request.model for request in requests]
    check_reports(options, FORMATS["check"], [path for model in models for path in _inputs(model)])
    with ProgressBar(enabled=not options.quiet) as progress:
        report = check_models(requests, progress.update, jobs=jobs)
    recorded = options.as_recorded()
    if "model" in recorded:
        recorded["model"] = [str(model.model) for model in models]
    return write_reports(options, present("check", replace(report, options=recorded)))


def _inputs(model: ConfiguredModel) -> tuple[SuiteSource | str | None, ...]:
    """Return the files that are read for a model."""
    return model.model, model.reference, *model.cases, model.baseline, model.waivers, model.conversations
