"""`tokverify convert`: convert a tokenizer file into another format, and verify the result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokverify.cli.case_options import cases_option
from tokverify.cli.locations import PATH
from tokverify.cli.options import (
    force_option,
    format_option,
    no_color_option,
    output_option,
    quiet_option,
    seed_option,
    texts_option,
    verbose_option,
)
from tokverify.cli.progress import ProgressBar
from tokverify.cli.stream import render_options, write_text
from tokverify.render.kinds import FORMATS
from tokverify.report.convert import conversion_exit_code

if TYPE_CHECKING:
    from tokverify.cases.case import SuiteSource

_STRINGS = 2000


@click.command()
@click.argument("source", type=PATH, metavar="IN")
@output_option("the converted tokenizer; the suffix determines its format.", required=True)
@force_option
@click.option("--unexplained", is_flag=True, help="Write the result even if it differs from IN for an unknown reason.")
@click.option(
    "--strict", is_flag=True, help="Do not write the result if anything differs, even if all differences are explained."
)
@click.option("--bos-token", "bos", metavar="TOKEN", help="Declare this token, given by its text or id, as BOS.")
@click.option("--eos-token", "eos", metavar="TOKEN", help="Declare this token as EOS.")
@click.option("--add-bos/--no-add-bos", default=None, help="Declare whether BOS is added before a text.")
@click.option("--add-eos/--no-add-eos", default=None, help="Declare whether EOS is added after a text.")
@texts_option(_STRINGS)
@seed_option
@cases_option
@click.option("--with-config", is_flag=True, help="Also write the tokenizer_config.json of a tokenizer.json.")
@format_option(FORMATS["convert"])
@quiet_option
@verbose_option
@no_color_option
def convert(  # noqa: PLR0913 - one parameter for each option
    *,
    source: Path,
    output: Path,
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
    format_name: str | None,
    quiet: bool,
    verbose: bool,
    no_color: bool,
) -> int:
    """Convert a tokenizer file into another format, and verify it.

    IN is a tokenizer.json, a sentencepiece .model, a .tiktoken with its pattern (FILE.tiktoken:cl100k_base), or a GGUF
    file. The suffix of FILE determines the format of the result: .gguf or .json.

    Before the result is written, it is verified against IN with the shipped cases and with generated texts. Everything
    that its format cannot express is listed, with the number of differences it explains. If that explains all
    differences, the result is written with a warning. The exit code is 0 if the result was written, 1 if it differs
    from IN and was not written, and 2 if the command could not run.
    """
    if unexplained and strict:
        raise click.UsageError("use either --unexplained, which writes the result even if it differs, or --strict")
    from tokverify.convert.special_tokens import SpecialTokens
    from tokverify.tasks.cases import select_cases
    from tokverify.tasks.convert import convert_tokenizer

    with ProgressBar(enabled=not quiet) as bar:
        conversion = convert_tokenizer(
            source,
            output,
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
    write_text(FORMATS["convert"][format_name or "table"](conversion, shown))
    return conversion_exit_code(conversion)
