"""`tokverify train`: train a tokenizer on a corpus, and prove that its GGUF file agrees with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from tokverify.commands.cli.locations import PATH
from tokverify.commands.cli.options import force_option, output_option, quiet_option, seed_option
from tokverify.commands.cli.parameters import Declared, argument, named, option
from tokverify.commands.cli.progress import StatusLine
from tokverify.commands.cli.stream import write_message
from tokverify.train import TRAINERS, Trainer
from tokverify.train.merge_learner import Ties
from tokverify.train.trainer import DEFAULT_MIN_FREQUENCY, LARGEST_VOCAB_SIZE

_DETAILS = (
    "CORPUS is one or more text files, which may be compressed (.gz), directories of them, or `-` for stdin. The exit"
    " code is 0 if the GGUF file gives the same ids as the tokenizer, 1 if it does not, and 2 if the command could not"
    " run."
)


@click.group()
def train() -> None:
    """Train a tokenizer, and verify its GGUF file.

    The results are written to a directory: tokenizer.json or tokenizer.model with its tokenizer_config.json, the
    equivalent tokenizer.gguf, and report.json, which compares the two.
    """


def _add_command(name: str, trainer: Trainer) -> None:
    """Add the command for one algorithm, with the options that the algorithm has."""

    def run(*, corpus: tuple[Path, ...], output: Path, quiet: bool, **options: Any) -> int:  # noqa: ANN401
        return _train(name, corpus, output, quiet=quiet, **options)

    help = f"Train {trainer.summary}."
    corpus = argument(nargs=-1, required=True, type=PATH)
    add_options = named(corpus=corpus, **_options(trainer))
    train.add_command(click.command(name, help=f"{help}\n\n{_DETAILS}", short_help=help)(add_options(run)))


def _options(trainer: Trainer) -> Mapping[str, Declared]:
    sizes = [f"{trainer.vocab_size:,}", *(f"{size:,} with --preset {name}" for name, size in trainer.presets.items())]
    options = {
        "output": output_option("the tokenizer in each format, and the report.", metavar="DIR", required=True),
        "vocab_size": option(
            "--vocab-size",
            type=click.IntRange(1, LARGEST_VOCAB_SIZE),
            metavar="N",
            show_default="; ".join(sizes),
            help="The number of tokens in total, if the corpus is large enough.",
        ),
        "seed": seed_option(),
        "force": force_option(),
        "quiet": quiet_option(),
    }
    if trainer.uses_min_frequency:
        options["min_frequency"] = option(
            "--min-frequency",
            type=click.IntRange(1),
            default=DEFAULT_MIN_FREQUENCY,
            show_default=True,
            metavar="N",
            help="Do not merge pairs of pieces that occur less often.",
        )
    if trainer.traces_merges:
        options["ties"] = option(
            "--ties",
            type=click.Choice([str(rule) for rule in Ties]),
            default=str(Ties.IDS),
            show_default=True,
            help="Of several equally frequent pairs, merge the one with the lowest ids, or the first one in the corpus"
            " (slower).",
        )
        options["trace"] = option(
            "--trace",
            type=click.IntRange(0),
            default=0,
            metavar="N",
            help="Show the first N merges: the counts of pairs, the chosen one, its id, and the tokens after it.",
        )
    if trainer.preparations:
        options["prepare"] = option(
            "--prepare",
            multiple=True,
            type=click.Choice(trainer.preparations),
            help="First strip indentation, leave out license headers, or write diffs (*.diff, *.patch) between"
            " <DIFF_START> and <DIFF_END>. Can be repeated.",
        )
    if trainer.presets:
        options["preset"] = option(
            "--preset",
            type=click.Choice(list(trainer.presets)),
            help="A variant of the algorithm; see the documentation.",
        )
    return options


def _train(name: str, corpus: tuple[Path, ...], output: Path, *, quiet: bool, **options: Any) -> int:  # noqa: ANN401
    from tokverify.commands.tasks.train import train_tokenizer
    from tokverify.render.train import render, render_verdict
    from tokverify.report.train import training_exit_code

    with StatusLine(enabled=not quiet) as line:
        training = train_tokenizer(name, corpus, output, on_progress=line.show, **options)
    exit_code = training_exit_code(training)
    write_message(render_verdict(training) if quiet else render(training, output))
    return exit_code


for _name, _trainer in TRAINERS.items():
    _add_command(_name, _trainer)
