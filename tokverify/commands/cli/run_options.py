"""The options of `tokverify run` for one model."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokverify.case import SuiteSource
from tokverify.commands.cli.baseline import BaselineOptions, check_baseline
from tokverify.commands.cli.output import UNRECORDED
from tokverify.commands.project.configuration import ConfiguredModel
from tokverify.location import Location

if TYPE_CHECKING:
    from tokverify.commands.tasks.check import CheckRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(BaselineOptions):
    """The options of the command."""

    model: Location
    reference: Location | None
    revision: str | None
    cases: tuple[SuiteSource, ...]
    suites: tuple[str, ...]
    tags: tuple[str, ...]
    patterns: tuple[str, ...]
    last_failed: bool
    max_failures: int | None
    fail_on: tuple[str, ...] | None
    strict: bool
    diagnose: bool
    thorough: bool
    certificate: Path | None = field(metadata=UNRECORDED)

    def check(self) -> None:
        """Fail before any work is done if the options do not fit together.

        Raises:
            UsageError: If an option requires or excludes another one.
            TokverifyError: If the baseline cannot be written.
        """
        if self.update_baseline and (self.max_failures or self.last_failed):
            raise click.UsageError("--accept needs all results; remove --maxfail, --fail-fast or --lf")
        if self.certificate and self.last_failed:
            raise click.UsageError("--certificate certifies the results of all cases; remove --lf")
        check_baseline(self)

    def request(self, model: ConfiguredModel) -> CheckRequest:
        """Describe the task for a model, whose settings are those of these options.

        Raises:
            UsageError: If there is a revision, but no hub id.
        """
        from tokverify.commands.tasks.check import CheckRequest
        from tokverify.report.check import Part

        return CheckRequest(
            model=replace(model, reference=self._location()),
            parts=[Part.RUN],
            max_failures=self.max_failures,
            diagnose=self.diagnose,
            thorough=self.thorough,
            last_failed=self.last_failed,
            update_baseline=self.update_baseline,
            options=self.as_recorded(),
        )

    def _location(self) -> Location | None:
        if self.revision is None:
            return self.reference
        if self.reference is None or Path(self.reference.text).exists():
            raise click.UsageError("--revision requires a hub id; name one with -r")
        return self.reference.at(f"{self.reference.text}@{self.revision}")
