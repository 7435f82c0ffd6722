"""What `tokverify run` is asked for one model, and doing it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokverify.cases.case import name_of_source
from tokverify.cli.baseline import Outcome, judged, opened_baseline
from tokverify.cli.options import selected_cases
from tokverify.cli.output import ReportOptions, check_reports
from tokverify.cli.progress import ProgressBar
from tokverify.diagnosis.repair import with_repairs
from tokverify.tasks.comparison import verify_model

if TYPE_CHECKING:
    from tokverify.cases.case import SuiteSource
    from tokverify.report.run import Report
    from tokverify.verify.baseline import Baseline


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(ReportOptions):
    """What the user asked for."""

    model: Path
    reference: str | None
    revision: str | None
    cases: tuple[SuiteSource, ...]
    suites: tuple[str, ...]
    tags: tuple[str, ...]
    patterns: tuple[str, ...]
    fail_fast: bool
    diagnose: bool
    baseline: Path | None
    update_baseline: bool
    reason: str | None

    def told(self) -> dict[str, object]:
        """Return what decides the results, for the report."""
        return {
            "model": str(self.model),
            "reference": self.reference,
            "revision": self.revision,
            "cases": list(map(name_of_source, self.cases)),
            "suites": list(self.suites),
            "tags": list(self.tags),
            "patterns": list(self.patterns),
            "fail_fast": self.fail_fast,
            "diagnose": self.diagnose,
            "baseline": None if self.baseline is None else str(self.baseline),
        }

    def check(self) -> None:
        """Fail before the work is done if what is asked for cannot be."""
        if self.update_baseline and self.fail_fast:
            raise click.UsageError("--update-baseline needs all results: leave out --fail-fast")
        check_reports(self, [self.model, self.reference, *self.cases, self.baseline], [self.baseline])

    def carry_out(self) -> Outcome:
        """Compare the cases, and judge them by the baseline."""
        baseline = opened_baseline(self)
        if not self.update_baseline:
            return Outcome(_verify(self, baseline), {})
        return judged(_verify(self, None), baseline, self)


def _verify(options: RunOptions, baseline: Baseline | None) -> Report:
    cases = selected_cases(options.cases, options.suites, options.tags, options.patterns)
    with ProgressBar(wanted=not options.quiet) as progress:
        report = verify_model(
            options.model,
            _location(options),
            cases,
            baseline=baseline,
            fail_fast=options.fail_fast,
            diagnose=options.diagnose and not options.update_baseline,
            on_progress=progress.update,
        )
    return with_repairs(replace(report, options=options.told()))


def _location(options: RunOptions) -> str | None:
    if options.revision is None:
        return options.reference
    if options.reference is None or Path(options.reference).exists():
        raise click.UsageError("--revision goes with a hub id: name one with -r")
    return f"{options.reference}@{options.revision}"
