"""`tokverify learn`: reconstruct a tokenizer from what a reference answers."""

from __future__ import annotations

from pathlib import Path

import click

from tokverify.cli.options import GGUF_PATH, PATH, no_color_option, quiet_option, seed_option, texts_option
from tokverify.cli.progress import StatusLine
from tokverify.cli.stream import render_options, write_text
from tokverify.render.kinds import FORMATS
from tokverify.report.learn import learning_exit_code

_TEXTS = 1000


@click.command()
@click.option(
    "-r", "--reference", required=True, metavar="LOCATION", help="The tokenizer to learn, as for `tokverify run`."
)
@click.option("-o", "--output", "target", type=GGUF_PATH, required=True, metavar="OUT", help="The GGUF file to write.")
@click.option(
    "--vocab",
    "vocabulary",
    type=PATH,
    metavar="FILE",
    help="A tokenizer file with the stored strings of the same tokens, which a server does not expose.",
)
@click.option("--ids-only", is_flag=True, help="Use nothing that the reference declares about itself.")
@click.option("--force", is_flag=True, help="Overwrite OUT if it exists.")
@texts_option(_TEXTS, "Verify with N generated texts.")
@seed_option
@click.option(
    "-f",
    "--format",
    "format_name",
    type=click.Choice(list(FORMATS["learn"])),
    default="table",
    help="The format of the report (default: table).",
)
@quiet_option
@click.option("-v", "--verbose", is_flag=True, help="Show all added tokens.")
@no_color_option
def learn(  # noqa: PLR0913 - one parameter for each option
    *,
    reference: str,
    target: Path,
    vocabulary: Path | None,
    ids_only: bool,
    force: bool,
    count: int,
    seed: int,
    format_name: str,
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
            target,
            vocabulary=vocabulary,
            ids_only=ids_only,
            force=force,
            count=count,
            seed=seed,
            on_progress=line.show,
        )
    shown = render_options(no_color=no_color, verbose=verbose, quiet=quiet)
    write_text(FORMATS["learn"][format_name](learning, shown))
    return learning_exit_code(learning)
