"""`tokverify learn`: reconstruct a tokenizer from what a reference answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokverify.commands.cli.locations import GGUF_PATH
from tokverify.commands.cli.options import (
    force_option,
    ids_only_option,
    output_option,
    reference_option,
    seed_option,
    side_report_options,
    texts_option,
    vocabulary_option,
)
from tokverify.commands.cli.output import ReportOptions, check_reports, write_reports
from tokverify.commands.cli.progress import StatusLine
from tokverify.commands.cli.renamed import old_command
from tokverify.render.kinds import FORMATS, present

if TYPE_CHECKING:
    from tokverify.report.learn import Learning

TEXTS = 1000
"""The default number of generated texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnOptions(ReportOptions):
    """The options of `tokverify learn`."""

    reference: str
    target: Path
    vocabulary: Path | None
    ids_only: bool
    force: bool
    count: int
    seed: int


@old_command("convert -r REF -o OUT")
@click.command()
@reference_option("to learn", required=True)
@output_option("the GGUF file.", GGUF_PATH, required=True)
@vocabulary_option
@ids_only_option
@force_option
@texts_option(TEXTS)
@seed_option
@side_report_options(FORMATS["learn"])
def learn(*, output: Path, **options: Any) -> int:  # noqa: ANN401 - the others are those of LearnOptions
    """Reconstruct the tokenizer of a reference as a GGUF file.

    A reference that declares its tokenizer is read. Any other is asked for the ids of a few thousand texts, which
    reveal the types of its tokens, its special tokens, its pre-tokenizer and its normalizer. Ids show only the effects
    of merges and scores, so these are written in the order that trainers usually produce.

    The result is verified on generated texts. The exit code is 0 if all of them have the same ids, 1 if some differ,
    and 2 if the command could not run.
    """
    return learn_reference(LearnOptions(target=output, output=None, **options))


def learn_reference(chosen: LearnOptions) -> int:
    """Reconstruct a tokenizer, write the reports, and return the exit code."""
    check_reports(chosen, FORMATS["learn"], [chosen.reference, chosen.vocabulary], [chosen.target])
    return write_reports(chosen, present("learn", _learn(chosen)))


def _learn(options: LearnOptions) -> Learning:
    from tokverify.commands.tasks.learn import learn_tokenizer

    with StatusLine(enabled=not options.quiet) as line:
        return learn_tokenizer(
            options.reference,
            options.target,
            vocabulary=options.vocabulary,
            ids_only=options.ids_only,
            force=options.force,
            count=options.count,
            seed=options.seed,
            on_progress=line.show,
        )
