"""`tokverify fix`: write a GGUF file again with its tokenizer repaired."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokverify.cli.options import PATH, ModelCommand, cases_option, model_argument, selected_cases
from tokverify.cli.output import write_text
from tokverify.errors import TokverifyError
from tokverify.system.output_file import check_place

if TYPE_CHECKING:
    from tokverify.cases.case import SuiteSource
    from tokverify.files.gguf.declaration import Declaration
    from tokverify.references import FoundReference


@dataclass(frozen=True, slots=True, kw_only=True)
class FixOptions:
    """What the user asked for."""

    model: Path
    reference: str | None
    output: Path | None
    cases: tuple[SuiteSource, ...]
    dry_run: bool
    force: bool


@click.command(cls=ModelCommand)
@model_argument
@click.option(
    "-r", "--reference", metavar="LOCATION", help="What the tokenizer should agree with; see `tokverify run --help`."
)
@click.option("-o", "--output", type=PATH, metavar="FIXED", help="The file to write; MODEL itself is never changed.")
@cases_option("What to go by")
@click.option("--dry-run", is_flag=True, help="Only say what would be written, and the command that does the same.")
@click.option("--force", is_flag=True, help="Overwrite FIXED if it exists.")
def fix(**options: Any) -> int:  # noqa: ANN401 - one parameter for each option, by type in FixOptions
    """Write a copy of MODEL whose tokenizer agrees with its reference.

    MODEL is a GGUF file.

    The cause is searched as by `tokverify run`, by all cases of the suites, as a repair is worth what proves it. What
    GGUF can express of the repair is written to FIXED, with tensors and all other metadata copied byte for byte; FIXED
    is verified before it gets its name. Where all ids match but some decode differently, that is repaired. The exit
    code is 0 if all cases match then, 1 if some still do not or nothing could be repaired, and 2 if it was not possible
    to try; with --dry-run, 1 if a case fails.
    """
    return _fix(FixOptions(**options))


def _fix(options: FixOptions) -> int:
    from tokverify.diagnosis import facts_of
    from tokverify.fix.fixing import make_plan, read_fixable, write_fixed
    from tokverify.render.fix import render_plan, render_result

    if not options.dry_run:
        _check_output(options)
    cases = selected_cases(options.cases, (), (), ())
    declaration = read_fixable(options.model)
    found = _reference(options, declaration)
    plan = make_plan(options.model, declaration, facts_of(found.tokenizer, found.path), cases)
    write_text(render_plan(plan, options.model, options.output))
    if plan.change is None:
        return 1 if plan.before.fail else 0
    if options.dry_run or options.output is None:
        return 1 if plan.before.fail else 0
    after = write_fixed(options.model, options.output, plan, found.tokenizer, cases)
    write_text(render_result(after, options.output))
    return 1 if after.fail else 0


def _check_output(options: FixOptions) -> None:
    output = options.output
    if output is None:
        raise click.UsageError("name the file to write with -o, or ask for --dry-run")
    if output.is_dir():
        raise TokverifyError(f"{output}: cannot be written: it is a directory; name a file in it")
    if output.exists():
        if options.model.exists() and output.samefile(options.model):
            raise TokverifyError(f"{output}: is MODEL itself, which is never changed; name another file")
        if not options.force:
            raise TokverifyError(f"{output}: exists already; name another file, or overwrite it with --force")
        if not output.is_file():
            raise TokverifyError(f"{output}: is not a regular file; name another one")
    check_place(output)


def _reference(options: FixOptions, declaration: Declaration) -> FoundReference:
    from tokverify.references import open_reference
    from tokverify.references.discovery import find_reference

    if options.reference is None:
        return find_reference(options.model, declaration.spec)
    return open_reference(options.reference, spec=declaration.spec, model=options.model)
