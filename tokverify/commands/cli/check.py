"""`tokverify check`: everything that is configured, with one verdict and one report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from tokverify.case import SuiteSource
from tokverify.commands.cli.baseline import BaselineOptions, baseline_options, check_baseline
from tokverify.commands.cli.build_option import llama_cpp_option
from tokverify.commands.cli.case_options import (
    ASPECTS_HELP,
    cases_option,
    fail_on_option,
    max_failures_options,
    strict_option,
    waivers_option,
)
from tokverify.commands.cli.configured import choose_models, override_settings
from tokverify.commands.cli.options import (
    ModelCommand,
    jobs_option,
    models_argument,
    reference_option,
    report_options,
)
from tokverify.commands.cli.several import check_several
from tokverify.commands.project.configuration_file import OPTION
from tokverify.render.kinds import FORMATS
from tokverify.report.check import Part


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
