"""`tokverify stats`: measure how many tokens tokenizers need for texts of many kinds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tokverify.commands.cli.locations import PATH
from tokverify.commands.cli.options import report_options
from tokverify.commands.cli.output import ReportOptions, check_reports, write_reports
from tokverify.commands.cli.progress import ProgressBar
from tokverify.commands.cli.renamed import old_command
from tokverify.render.kinds import FORMATS, present


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsOptions(ReportOptions):
    """The options of the command."""

    model: str
    others: tuple[str, ...]
    files: tuple[Path, ...]


@old_command("inspect MODEL --texts FILE")
@click.command()
@click.argument("model")
@click.argument("files", nargs=-1, type=PATH, metavar="[FILE]...")
@click.option(
    "-m",
    "--model",
    "others",
    multiple=True,
    metavar="OTHER",
    help="Another tokenizer to compare with. Can be repeated.",
)
@report_options(FORMATS["stats"])
def stats(**options: Any) -> int:  # noqa: ANN401 - one parameter for each option, by type in StatsOptions
    """Measure how many tokens MODEL needs for texts.

    MODEL and OTHER are GGUF files, or anything that `tokverify run -r` accepts.

    The texts are the FILEs, or else samples that come with tokverify: one text in ten languages, one program in six
    languages, numbers, and white space. The suffix of a FILE determines its programming language, and the letters in
    each line determine its script. How numbers, indentation and the end of a prompt are encoded is always shown.

    The exit code is 0, or 1 if a tokenizer cannot encode one of the texts.
    """
    return measure_texts(StatsOptions(**options))


def measure_texts(options: StatsOptions) -> int:
    """Count the tokens of texts, write the reports, and return the exit code."""
    from tokverify.commands.tasks.stats import measure_tokenizers

    check_reports(options, FORMATS["stats"], [options.model, *options.others, *options.files])
    with ProgressBar(enabled=bool(options.files), what="bytes") as progress:
        report = measure_tokenizers(
            [options.model, *options.others],
            options.files,
            options=options.as_recorded(),
            on_progress=progress.update,
        )
    return write_reports(options, present("stats", report))
