"""`tokverify learn`: reconstruct a tokenizer from what a reference answers."""

from __future__ import annotations

from pathlib import Path

import click

from tokverify.cli.locations import GGUF_PATH, PATH
from tokverify.cli.options import (
    force_option,
    format_option,
    no_color_option,
    output_option,
    quiet_option,
    reference_option,
    seed_option,
    texts_option,
    verbose_option,
)
from tokverify.cli.progress import StatusLine
from tokverify.cli.stream import render_options, write_text
from tokverify.render.kinds import FORMATS
from tokverify.report.learn import learning_exit_code

_TEXTS = 1000


@click.command()
@reference_option("to learn", required=True)
@output_option("the GGUF file.", GGUF_PATH, required=True)
@click.option(
    "--vocab",
    "vocabulary",
    type=PATH,
    metavar="FILE",
    help="A tokenizer file with the stored strings of the same tokens, which a server does not expose.",
)
@click.option("--ids-only", is_flag=True, help="Use nothing that the reference declares about itself.")
@force_option
@texts_option(_TEXTS)
@seed_option
@format_option(FORMATS["learn"])
@quiet_option
@verbose_option
@no_color_option
def learn(  # noqa: PLR0913 - one parameter for each option
    *,
    reference: str,
    output: Path,
    vocabulary: Path | None,
    ids_only: bool,
    force: bool,
    count: int,
    seed: int,
    format_name: str | None,
    quiet: bool,
    verbose: bool,
    no_color: bool,
) -> int:
    """Reconstruct the tokenizer of a reference as a GGUF file.

    A reference that declares its tokenizer is read. Any other is asked for the ids of a few thousand texts, which
    reveal the types of its tokens, its special tokens, its pre-tokenizer and its normalizer. Merges and scores, of
    which ids show only the effects, are written as trainers usually order them.

    The result is verified on generated texts. The exit code is 0 if all of them have the same ids, 1 if some differ,
    and 2 if the command could not run.
    """
    from tokverify.tasks.learn import learn_tokenizer

    with StatusLine(enabled=not quiet) as line:
        learning = learn_tokenizer(
            reference,
            output,
            vocabulary=vocabulary,
            ids_only=ids_only,
            force=force,
            count=count,
            seed=seed,
            on_progress=line.show,
        )
    shown = render_options(no_color=no_color, verbose=verbose, quiet=quiet)
    write_text(FORMATS["learn"][format_name or "table"](learning, shown))
    return learning_exit_code(learning)
