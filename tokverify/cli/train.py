"""`tokverify train`: make a tokenizer from a corpus, and prove that its GGUF agrees with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokverify.cli.options import PATH
from tokverify.cli.output import write_text
from tokverify.cli.progress import StatusLine
from tokverify.train import TRAINERS, TrainingPlan
from tokverify.train.trainer import DEFAULT_MIN_FREQUENCY, LARGEST_VOCAB_SIZE

if TYPE_CHECKING:
    from tokverify.train import Trainer

_EXIT_CODES = "The exit code is 0 if the GGUF gives the same ids, 1 if it does not, and 2 if training was not possible."


@click.group()
def train() -> None:
    """Train a tokenizer, and verify its GGUF file.

    What comes of text files is written to a directory: tokenizer.json or tokenizer.model with its
    tokenizer_config.json, the same as tokenizer.gguf, and report.json, which compares the two.
    """


def _add_command(name: str, trainer: Trainer) -> None:
    """Add the command that trains by one algorithm, with the options which that has."""

    def run(*, corpus: tuple[Path, ...], output: Path, force: bool, quiet: bool, **options: Any) -> int:  # noqa: ANN401
        if options["vocab_size"] is None:
            options["vocab_size"] = trainer.presets.get(options.get("preset") or "", trainer.vocab_size)
        return _train(name, TrainingPlan(corpus=corpus, **options), output, force=force, quiet=quiet)

    help = f"Train {trainer.summary}."
    params: list[click.Parameter] = [
        click.Argument(["corpus"], nargs=-1, required=True, type=PATH),
        *_options(trainer),
    ]
    train.add_command(
        click.Command(name, callback=run, params=params, help=f"{help}\n\n{_EXIT_CODES}", short_help=help)
    )


def _options(trainer: Trainer) -> list[click.Parameter]:
    sizes = [f"{trainer.vocab_size:,}", *(f"{size:,} with {name}" for name, size in trainer.presets.items())]
    options = [
        click.Option(["-o", "--output"], required=True, type=PATH, metavar="DIR", help="The directory to write."),
        click.Option(
            ["--vocab-size"],
            type=click.IntRange(1, LARGEST_VOCAB_SIZE),
            metavar="N",
            help=f"How many tokens, all included, if the corpus gives so many (default: {', '.join(sizes)}).",
        ),
        click.Option(
            ["--seed"],
            type=click.IntRange(0),
            default=0,
            show_default=True,
            metavar="N",
            help="For the made-up texts to verify with; training draws nothing by lot.",
        ),
        click.Option(["--force"], is_flag=True, help="Write over what is in DIR."),
        click.Option(["-q", "--quiet"], is_flag=True, help="Say nothing if all is well."),
    ]
    if trainer.uses_min_frequency:
        options.append(
            click.Option(
                ["--min-frequency"],
                type=click.IntRange(1),
                default=DEFAULT_MIN_FREQUENCY,
                show_default=True,
                metavar="N",
                help="Learn no pair of pieces that occurs less often.",
            )
        )
    if trainer.presets:
        options.append(
            click.Option(["--preset"], type=click.Choice(list(trainer.presets)), help="A variant; see docs.")
        )
    return list(options)


def _train(name: str, plan: TrainingPlan, output: Path, *, force: bool, quiet: bool) -> int:
    from tokverify.render.train import render
    from tokverify.tasks.train import train

    with StatusLine(wanted=not quiet) as line:
        training = train(name, replace(plan, on_progress=line.show), output, force=force)
    if training.report.exit_code or not quiet:
        write_text(render(training, output))
    return training.report.exit_code


for _name, _trainer in TRAINERS.items():
    _add_command(_name, _trainer)
