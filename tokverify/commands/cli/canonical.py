"""`tokverify canonical`: check whether logged ids are the encoding of their own text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tokverify.commands.cli.locations import MODEL, PATH
from tokverify.commands.cli.options import examples_option, reference_option, report_options
from tokverify.commands.cli.output import ReportOptions, check_reports, write_reports
from tokverify.commands.cli.progress import StatusLine
from tokverify.commands.cli.renamed import old_command
from tokverify.render.kinds import FORMATS, present
from tokverify.text.wording import plural


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalOptions(ReportOptions):
    """The options of the command."""

    log: Path
    model: Path
    reference: str | None
    fields: tuple[str, ...]
    examples: int


@old_command("corpus verify MODEL LOG --ids FIELD")
@click.command()
@click.argument("log", type=PATH)
@click.argument("model", type=MODEL)
@reference_option("to encode the texts with instead of MODEL")
@click.option(
    "--field",
    "fields",
    multiple=True,
    metavar="FIELD",
    help="The field with the ids. Can be repeated: the fields are joined in this order.",
)
@examples_option
@report_options(FORMATS["canonical"])
def canonical(**options: Any) -> int:  # noqa: ANN401 - one parameter for each option, by type in CanonicalOptions
    """Check whether logged ids are the encoding of their own text.

    MODEL decodes the ids to a text. MODEL, or the reference if there is one, encodes that text again. LOG contains a
    JSON object with a list of ids on each line, such as the rollouts of a reinforcement learning run. A sequence that
    deviates is tokenized differently if its text is encoded again, so that log probabilities and cached prefixes no
    longer belong to it. Each deviating sequence is counted under the cause of its first deviation.

    The exit code is 0 if no sequence deviates, 1 if one does, and 2 if nothing was compared.
    """
    return check_log(CanonicalOptions(**options))


def check_log(options: CanonicalOptions) -> int:
    """Check the ids of a log, write the reports, and return the exit code."""
    from tokverify.commands.tasks.canonical import check_canonical_ids

    check_reports(options, FORMATS["canonical"], [options.log, options.model, options.reference])
    with StatusLine(enabled=not options.quiet) as line:
        report = check_canonical_ids(
            options.log,
            options.model,
            options.reference,
            fields=options.fields,
            examples=options.examples,
            options=options.as_recorded(),
            on_progress=lambda count: line.show(plural(count, "sequence")),
        )
    return write_reports(options, present("canonical", report))
