"""`tokverify fix`: write a copy of a GGUF file with its tokenizer repaired."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokverify.case import SuiteSource
from tokverify.commands.cli.case_options import cases_option
from tokverify.commands.cli.configured import find_configured, override_settings
from tokverify.commands.cli.locations import GGUF_PATH
from tokverify.commands.cli.options import (
    ModelCommand,
    allow_outside_option,
    force_option,
    model_argument,
    output_option,
    reference_option,
    side_report_options,
    thorough_option,
)
from tokverify.commands.cli.output import ReportOptions, check_reports, write_reports
from tokverify.commands.cli.parameters import option, takes
from tokverify.commands.cli.progress import StatusLine
from tokverify.errors import TokverifyError
from tokverify.location import Location
from tokverify.render.kinds import present
from tokverify.text.command_line import fixed_name

if TYPE_CHECKING:
    from tokverify.report.fix import FixReport


@dataclass(frozen=True, kw_only=True)
class FixOptions(ReportOptions):
    """The options of the command."""

    model: Path = model_argument()
    reference: Location | str | None = reference_option("to agree with")
    fixed: Path | None = output_option(
        "the repaired GGUF file (default: NAME-fixed.gguf beside MODEL); MODEL is never changed.", GGUF_PATH
    )
    cases: tuple[SuiteSource, ...] = cases_option()
    dry_run: bool = option(
        "--dry-run", is_flag=True, help="Only show what would be written, and the equivalent commands."
    )
    force: bool = force_option()
    allow_outside: bool = allow_outside_option(recorded=False)
    thorough: bool = thorough_option()


@click.command(cls=ModelCommand)
@takes(FixOptions)
@side_report_options()
def fix(options: FixOptions) -> int:
    """Write a copy of MODEL that agrees with its reference.

    MODEL is a GGUF file.

    tokverify searches for the cause of failures, as `tokverify run` does, and writes the part of the repair that GGUF
    can express to FILE, one fault after the other. Tensors and all other metadata are copied byte for byte. The copy
    is compared with the reference by all cases, by generated texts for each token that was changed, by decoding, and by
    the bytes, types and roles of all tokens as far as the reference reveals them, before it is named FILE.

    The exit code is 0 if nothing differs in the end, 1 if something differs or was not verified, and 2 if the command
    could not run. With --dry-run, it is 1 if something differs now.
    """
    if not options.fixed and not options.dry_run:
        options = replace(options, fixed=_fixed_beside(options.model))
    check_reports(options, [options.model], [options.fixed])
    if configured := find_configured(options.model, allow_outside=options.allow_outside):
        settings = override_settings(configured, vars(options))
        options = replace(options, reference=settings.reference, cases=settings.cases)
    return write_reports(options, present("fix", _fix(options)))


def _fixed_beside(model: Path) -> Path:
    """Return where the repaired copy goes by default: beside the model, or here if that is not a file.

    Raises:
        TokverifyError: If there is a link, which may lead anywhere.
    """
    directory = Path(model).parent if Path(model).is_file() else Path()
    fixed = directory / str(fixed_name(str(model)))
    if fixed.is_symlink():
        raise TokverifyError(f"{fixed}: is a link; name the file to write with -o")
    return fixed


def _fix(options: FixOptions) -> FixReport:
    from tokverify.cases.loading import select_cases
    from tokverify.commands.tasks.fix import fix_model

    with StatusLine(enabled=not options.quiet) as line:
        line.show("searching for a repair")
        return fix_model(
            options.model,
            None if options.dry_run else options.fixed,
            options.reference,
            select_cases(options.cases),
            force=options.force,
            thorough=options.thorough,
        )
