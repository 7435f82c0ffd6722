"""`tokverify check`: everything that is configured, with one verdict and one report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import click

from tokverify.case import SuiteSource
from tokverify.commands.cli.build_option import llama_cpp_option
from tokverify.commands.cli.case_options import (
    ASPECTS_HELP,
    BaselineOptions,
    cases_option,
    check_baseline,
    fail_on_option,
    max_failures_option,
    strict_option,
    waivers_option,
)
from tokverify.commands.cli.configured import choose_models, merge_options, override_settings
from tokverify.commands.cli.options import (
    ModelCommand,
    allow_outside_option,
    jobs_option,
    models_argument,
    reference_option,
    report_options,
)
from tokverify.commands.cli.parameters import option, takes
from tokverify.commands.cli.several import check_several
from tokverify.location import Location
from tokverify.report.check import Part


@dataclass(frozen=True, kw_only=True)
class CheckOptions(BaselineOptions):
    """The options of the command."""

    models: tuple[Path | str, ...] = models_argument(required=False)
    reference: Location | str | None = reference_option("to compare with")
    cases: tuple[SuiteSource, ...] = cases_option()
    llama_cpp: str | None = llama_cpp_option()
    waivers: Path | None = waivers_option()
    fail_on: tuple[str, ...] | None = fail_on_option(
        "differences and findings", ASPECTS_HELP, default="error; for `chat`, warning"
    )
    strict: bool = strict_option()
    only: tuple[str, ...] = option(
        "--only",
        multiple=True,
        type=click.Choice([str(part) for part in Part]),
        help="Perform only this part: compare cases, apply the static rules, or check the chat templates. Can be"
        " repeated.",
    )
    max_failures: int | None = max_failures_option()
    jobs: int = jobs_option(1)
    allow_outside: bool = allow_outside_option()


@click.command(cls=ModelCommand)
@takes(CheckOptions)
@report_options()
def check(options: CheckOptions) -> int:
    """Check cases, static rules and chat templates: one verdict.

    This is the command for CI. MODEL is a file, a directory or a pattern of GGUF files, a name such as
    hf:org/name:Q4_K_M or hf:org/*, or the name of a configured model; without any, all models in tokverify.toml or
    pyproject.toml are checked. The exit code is 0 if all parts pass, 1 if one fails, and 2 if one
    could not be performed. --accept lists what fails now, by cause, so that from now on only what is new fails.
    """
    from tokverify.commands.tasks.check import CheckRequest

    models, _ = choose_models(options.models, allow_outside=options.allow_outside, accepts=options.update_baseline)
    if options.update_baseline and (options.only or options.max_failures):
        raise click.UsageError("--accept needs all results; remove --only, --maxfail or --fail-fast")
    requests = [
        CheckRequest(
            model=override_settings(model, vars(options)),
            parts=[Part(name) for name in options.only] or list(Part),
            max_failures=options.max_failures,
            update_baseline=options.update_baseline,
            # Repairs name the reference and the cases of this model.
            options=merge_options(CheckOptions, vars(options), model).as_recorded(),
        )
        for model in models
    ]
    for request in requests:
        check_baseline(replace(options, baseline=request.model.baseline))
    return check_several(options, requests, options.jobs, reason=options.reason)
