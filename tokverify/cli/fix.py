"""`tokverify fix`: write a copy of a GGUF file with its tokenizer repaired."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokverify.cli.options import PATH, ModelCommand, cases_option, model_argument, reference_option
from tokverify.cli.stream import write_text

if TYPE_CHECKING:
    from tokverify.cases.case import SuiteSource


@click.command(cls=ModelCommand)
@model_argument
@reference_option("The tokenizer to agree with, as for `tokverify run`.")
@click.option("-o", "--output", type=PATH, metavar="FIXED", help="The file to write; MODEL itself is never changed.")
@cases_option("The texts to verify with")
@click.option("--dry-run", is_flag=True, help="Only show what would be written, and the equivalent command.")
@click.option("--force", is_flag=True, help="Overwrite FIXED if it exists.")
def fix(  # noqa: PLR0913 - one parameter for each option
    *,
    model: Path,
    reference: str | None,
    output: Path | None,
    cases: Sequence[SuiteSource],
    dry_run: bool,
    force: bool,
) -> int:
    """Write a copy of MODEL whose tokenizer agrees with its reference.

    MODEL is a GGUF file.

    tokverify searches for the cause of failures, as `tokverify run` does, and writes the part of the repair that GGUF
    can express to FIXED. Tensors and all other metadata are copied byte for byte. The copy is verified on all cases
    before it is named FIXED. If all ids match but some decode differently, the decoding is repaired.

    The exit code is 0 if all cases match in the end, 1 if some do not or nothing could be repaired, and 2 if the
    command could not run. With --dry-run, it is 1 if a case fails.
    """
    from tokverify.render.fix import render_plan, render_result
    from tokverify.report.fix import fix_exit_code
    from tokverify.tasks.cases import select_cases
    from tokverify.tasks.fix import fix_model

    if output is None and not dry_run:
        raise click.UsageError("name the file to write with -o, or use --dry-run")
    result = fix_model(
        model,
        None if dry_run else output,
        reference,
        select_cases(cases),
        force=force,
        on_plan=lambda plan: write_text(render_plan(plan, model, output)),
    )
    if result.after and output:
        write_text(render_result(result.after, output))
    return fix_exit_code(result)
