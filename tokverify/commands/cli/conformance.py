"""`tokverify conformance`: check that an engine encodes as llama.cpp does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tokverify.commands.cli.case_options import ASPECTS_HELP, fail_on_option
from tokverify.commands.cli.options import model_argument, reference_option, report_options, seed_option, texts_option
from tokverify.commands.cli.output import ReportOptions, check_reports, write_reports
from tokverify.commands.cli.progress import ProgressBar
from tokverify.commands.cli.renamed import old_command
from tokverify.commands.cli.stream import write_gone
from tokverify.render.kinds import FORMATS, present

TEXTS = 2000
"""The default number of generated texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConformanceOptions(ReportOptions):
    """The options of the command."""

    model: Path | str
    reference: str
    count: int
    seed: int
    fail_on: tuple[str, ...] | None


@old_command("run MODEL -r ENGINE --judge model")
@click.command()
@model_argument
@reference_option("to check", ": the engine, such as 'command:./my-engine --model model.gguf'", required=True)
@texts_option(TEXTS)
@seed_option
@fail_on_option("differences between the tokenizers", ASPECTS_HELP, default="error,decoding")
@report_options(FORMATS["run"])
def conformance(**options: Any) -> int:  # noqa: ANN401 - one parameter for each option, by type in ConformanceOptions
    """Check that an engine encodes as llama.cpp does.

    The engine is compared with the tokenizer in the file MODEL, which it should have read: on the shipped cases and on
    generated texts, including decoding and its vocabulary. Texts are also encoded repeatedly, alone and in batches.
    The report is that of `tokverify run`, with MODEL as the actual side and the engine as the expected one.

    The exit code is 0 if everything compared agrees, 1 if something differs, and 2 if the command could not run.
    """
    return check_engine(ConformanceOptions(**options))


def check_engine(options: ConformanceOptions) -> int:
    """Check an engine against the model, write the reports, and return the exit code."""
    from tokverify.commands.tasks.conformance import FAIL_ON, check_conformance

    check_reports(options, FORMATS["run"], [options.model])
    with ProgressBar(enabled=not options.quiet) as progress:
        report = check_conformance(
            options.reference,
            options.model,
            count=options.count,
            seed=options.seed,
            fail_on=FAIL_ON if options.fail_on is None else options.fail_on,
            options=options.as_recorded(),
            on_progress=progress.update,
        )
    write_gone(report.gone)
    return write_reports(options, present("run", report))
