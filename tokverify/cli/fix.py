"""`tokverify fix`: write a copy of a GGUF file with its tokenizer repaired."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokverify.cli.case_options import cases_option
from tokverify.cli.locations import GGUF_PATH
from tokverify.cli.options import (
    ModelCommand,
    force_option,
    format_option,
    model_argument,
    no_color_option,
    output_option,
    quiet_option,
    reference_option,
    thorough_option,
    verbose_option,
)
from tokverify.cli.stream import write_message, write_text

if TYPE_CHECKING:
    from tokverify.cases.case import SuiteSource
    from tokverify.report.fix import FixReport


@click.command(cls=ModelCommand)
@model_argument
@reference_option("to agree with")
@output_option("the repaired GGUF file; MODEL is never changed.", GGUF_PATH)
@cases_option
@click.option("--dry-run", is_flag=True, help="Only show what would be written, and the equivalent commands.")
@force_option
@thorough_option
@format_option(["table", "json"])
@quiet_option
@verbose_option
@no_color_option
def fix(  # noqa: PLR0913 - one parameter for each option
    *,
    model: Path,
    reference: str | None,
    output: Path | None,
    cases: Sequence[SuiteSource],
    dry_run: bool,
    force: bool,
    thorough: bool,
    format_name: str | None,
    quiet: bool,
    verbose: bool,
    no_color: bool,
) -> int:
    """Write a copy of MODEL that agrees with its reference.

    MODEL is a GGUF file.

    tokverify searches for the cause of failures, as `tokverify run` does, and writes the part of the repair that GGUF
    can express to FILE, one fault after the other. Tensors and all other metadata are copied byte for byte. The copy
    is compared with the reference by all cases, by generated texts for each token that was changed, by decoding, and by
    the bytes, types and roles of all tokens as far as the reference reveals them, before it is named FILE.

    The exit code is 0 if nothing differs in the end, 1 if something differs or was not verified, and 2 if the command
    could not run. With --dry-run, it is 1 if something differs now.
    """
    from tokverify.render.fix import render_result, render_verdict
    from tokverify.report.codec import encode
    from tokverify.report.fix import fix_exit_code
    from tokverify.tasks.cases import select_cases
    from tokverify.tasks.fix import fix_model

    del no_color  # The text has no colors.
    if output is None and not dry_run:
        raise click.UsageError("name the file to write with -o, or use --dry-run")
    is_table = format_name != "json"
    write_plan = _plan_writer(model, output, with_commands=dry_run or verbose, verbose=verbose)
    result = fix_model(
        model,
        None if dry_run else output,
        reference,
        select_cases(cases),
        force=force,
        thorough=thorough,
        on_plan=write_plan if is_table and not quiet else _write_nothing,
    )
    if not is_table:
        write_text(encode(result))
        return fix_exit_code(result)
    if result.after and output and not quiet:
        write_message(render_result(result, output, verbose=verbose))
    write_message(render_verdict(result))
    return fix_exit_code(result)


def _plan_writer(
    model: Path, output: Path | None, *, with_commands: bool, verbose: bool
) -> Callable[[FixReport], None]:
    from tokverify.render.fix import render_plan

    def write(plan: FixReport) -> None:
        write_message(render_plan(plan, model, output, with_commands=with_commands, verbose=verbose))

    return write


def _write_nothing(_plan: FixReport) -> None:
    """Write no plan: only the result was requested."""
