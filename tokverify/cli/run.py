"""`tokverify run`: verify a GGUF file's tokenizer against its reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tokverify.cli.baseline import baseline_options
from tokverify.cli.matrix import run_configured
from tokverify.cli.options import PATH, ModelCommand, cases_option, report_options, selection_options
from tokverify.cli.output import write_reports
from tokverify.cli.run_options import RunOptions
from tokverify.render import FORMATS, present


@click.command(cls=ModelCommand)
@click.argument("model", type=PATH, required=False)
@click.option(
    "-r",
    "--reference",
    metavar="LOCATION",
    help="What to compare with: a tokenizer.json, a tokenizer.model, a directory with either, a hub id such as"
    " org/name, `rebuilt`, `llama.cpp`, the address of a llama-server, a tekken.json, tiktoken:NAME,"
    " FILE.tiktoken:PATTERN, or `expect`: what the cases themselves expect. Found by itself if not given.",
)
@click.option("--revision", metavar="REVISION", help="The branch, tag or commit of a hub id.")
@cases_option("What to encode")
@selection_options
@click.option("--fail-fast", is_flag=True, help="Stop at the first case that fails.")
@click.option("--diagnose/--no-diagnose", default=True, help="Search for the reason where cases fail (the default).")
@baseline_options
@click.option("-j", "--jobs", type=click.IntRange(1), metavar="N", help="Verify N configured models at a time.")
@report_options(FORMATS, "Matching cases and settings too, and nothing folded.")
def run(*, model: Path | None, jobs: int | None, **options: Any) -> int:  # noqa: ANN401 - the rest is in RunOptions
    """Verify the tokenizer in the file MODEL against its reference.

    MODEL is a GGUF file; or a tokenizer.json, a sentencepiece .model or FILE.tiktoken:PATTERN, put as a GGUF file
    would put it. Without it, all models that tokverify.toml or pyproject.toml names are verified; options go before
    what is written there.

    Every case is encoded by both; ids that differ are shown side by side. The exit code is 0 if all cases
    match or fail as a baseline says, 1 if one does not, and 2 if the run was not possible.
    """
    return _run(RunOptions(model=model, **options)) if model else run_configured(options, jobs)


def _run(options: RunOptions) -> int:
    options.check()
    report, also = options.carry_out()
    write_reports(options, present(report), also)
    return report.exit_code
