"""`tokverify convert`: convert a tokenizer file into another format, and verify the result."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokverify.cli.options import PATH, cases_option, no_color_option
from tokverify.cli.output import render_options, write_text
from tokverify.cli.progress import ProgressBar
from tokverify.render.convert import CONVERSION_FORMATS
from tokverify.report.convert import conversion_exit_code

if TYPE_CHECKING:
    from tokverify.cases.case import SuiteSource

_STRINGS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertOptions:
    """What the user asked for."""

    source: Path
    target: Path
    force: bool
    count: int
    seed: int
    with_config: bool
    cases: tuple[SuiteSource, ...]
    format_name: str
    quiet: bool
    verbose: bool
    no_color: bool


@click.command()
@click.argument("source", type=PATH, metavar="IN")
@click.option("-o", "--output", "target", type=PATH, required=True, metavar="OUT", help="The file to write.")
@click.option("--force", is_flag=True, help="Write OUT even if it differs from IN, and even if it is there already.")
@click.option(
    "--count",
    type=click.IntRange(0),
    default=_STRINGS,
    show_default=True,
    metavar="N",
    help="Verify with N generated texts besides the cases.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed makes the same texts.")
@cases_option("What to verify with")
@click.option("--with-config", is_flag=True, help="Beside a tokenizer.json, write the tokenizer_config.json, too.")
@click.option(
    "-f",
    "--format",
    "format_name",
    type=click.Choice(list(CONVERSION_FORMATS)),
    default="table",
    help="How to write the report: for eyes (table, the default) or for programs.",
)
@click.option("-q", "--quiet", is_flag=True, help="Only the verdict.")
@click.option("-v", "--verbose", is_flag=True, help="All causes, and the texts that show which pre-tokenizer it is.")
@no_color_option
def convert(**options: Any) -> int:  # noqa: ANN401 - one parameter for each option, by type in ConvertOptions
    """Convert a tokenizer file into another format, and verify it.

    The suffix of OUT names the format: .gguf or .json. IN is a tokenizer.json, a sentencepiece .model, a .tiktoken with
    its pattern (FILE.tiktoken:cl100k_base), or a GGUF file.

    OUT is verified against IN before it gets its name, with the shipped cases and with generated texts. What the format
    of OUT cannot carry is listed, with the number of differences that it explains. The exit code is 0 if OUT was
    written, 1 if it differs and was not, and 2 if it was not possible to try.
    """
    return _convert(ConvertOptions(**options))


def _convert(options: ConvertOptions) -> int:
    from tokverify.cases.loading import load_cases
    from tokverify.convert import convert as run

    with ProgressBar(wanted=not options.quiet) as bar:
        conversion = run(
            options.source,
            options.target,
            force=options.force,
            on_progress=bar.update,
            cases=load_cases(options.cases or None),
            count=options.count,
            seed=options.seed,
            with_config=options.with_config,
        )
    shown = render_options(no_color=options.no_color, verbose=options.verbose, quiet=options.quiet)
    write_text(CONVERSION_FORMATS[options.format_name](conversion, shown))
    return conversion_exit_code(conversion)
