"""`tokverify convert`: convert a tokenizer file into another format, and verify the result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokverify.cli.case_options import cases_option
from tokverify.cli.options import PATH, no_color_option, quiet_option, seed_option, texts_option
from tokverify.cli.progress import ProgressBar
from tokverify.cli.stream import render_options, write_text
from tokverify.render.kinds import FORMATS
from tokverify.report.convert import conversion_exit_code

if TYPE_CHECKING:
    from tokverify.cases.case import SuiteSource

_STRINGS = 2000


@click.command()
@click.argument("source", type=PATH, metavar="IN")
@click.option("-o", "--output", "target", type=PATH, required=True, metavar="OUT", help="The file to write.")
@click.option("--force", is_flag=True, help="Overwrite OUT if it exists.")
@click.option("--unexplained", is_flag=True, help="Write OUT even if it differs from IN for an unknown reason.")
@click.option(
    "--strict", is_flag=True, help="Do not write OUT if anything differs, even if all differences are explained."
)
@click.option("--bos-token", "bos", metavar="TOKEN", help="Declare this token, given by its text or id, as BOS.")
@click.option("--eos-token", "eos", metavar="TOKEN", help="Declare this token as EOS.")
@click.option("--add-bos/--no-add-bos", default=None, help="Declare whether BOS is added before a text.")
@click.option("--add-eos/--no-add-eos", default=None, help="Declare whether EOS is added after a text.")
@texts_option(_STRINGS, "Verify with N generated texts in addition to the cases.")
@seed_option
@cases_option("The texts to verify with")
@click.option("--with-config", is_flag=True, help="If OUT is a tokenizer.json, also write its tokenizer_config.json.")
@click.option(
    "-f",
    "--format",
    "format_name",
    type=click.Choice(list(FORMATS["convert"])),
    default="table",
    help="The format of the report (default: table).",
)
@quiet_option
@click.option("-v", "--verbose", is_flag=True, help="Show all causes, and the texts that identify the pre-tokenizer.")
@no_color_option
def convert(  # noqa: PLR0913 - one parameter for each option
    *,
    source: Path,
    target: Path,
    force: bool,
    unexplained: bool,
    strict: bool,
    bos: str | None,
    eos: str | None,
    add_bos: bool | None,
    add_eos: bool | None,
    count: int,
    seed: int,
    cases: Sequence[SuiteSource],
    with_config: bool,
    format_name: str,
    quiet: bool,
    verbose: bool,
    no_color: bool,
) -> int:
    """Convert a tokenizer file into another format, and verify it.

    The suffix of OUT determines the format: .gguf or .json. IN is a tokenizer.json, a sentencepiece .model, a .tiktoken
    with its pattern (FILE.tiktoken:cl100k_base), or a GGUF file.

    Before OUT is written, the result is verified against IN with the shipped cases and with generated texts. Everything
    that the format of OUT cannot express is listed, with the number of differences it explains. If that explains all
    differences, OUT is written with a warning. The exit code is 0 if OUT was written, 1 if it differs from IN and was
    not written, and 2 if the command could not run.
    """
    if unexplained and strict:
        raise click.UsageError("--unexplained writes OUT even if it differs, and --strict does not; use one of them")
    from tokverify.convert.special_tokens import SpecialTokens
    from tokverify.tasks.cases import select_cases
    from tokverify.tasks.convert import convert_tokenizer

    with ProgressBar(enabled=not quiet) as bar:
        conversion = convert_tokenizer(
            source,
            target,
            select_cases(cases),
            force=force,
            unexplained=unexplained,
            strict=strict,
            count=count,
            seed=seed,
            with_config=with_config,
            special_tokens=SpecialTokens(bos=bos, eos=eos, add_bos=add_bos, add_eos=add_eos),
            on_progress=bar.update,
        )
    shown = render_options(no_color=no_color, verbose=verbose, quiet=quiet)
    write_text(FORMATS["convert"][format_name](conversion, shown))
    return conversion_exit_code(conversion)
