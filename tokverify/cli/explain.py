"""`tokverify explain`: show the whole way of one text through the pipeline."""

from __future__ import annotations

from pathlib import Path

import click

from tokverify.cli.options import file_option, json_option, model_argument, no_color_option
from tokverify.cli.output import render_options, write_text
from tokverify.cli.source import read_text


@click.command()
@model_argument
@click.argument("text", required=False)
@file_option
@click.option("-r", "--reference", metavar="LOCATION", help="Show its stages beside ours; as for `tokverify run`.")
@click.option("--add-special/--no-add-special", help="Add BOS and EOS as the file says. Off by default.")
@click.option(
    "--parse-special/--no-parse-special",
    default=True,
    help="Recognize control tokens in the text. On by default.",
)
@click.option("--full", is_flag=True, help="Leave nothing out.")
@json_option
@no_color_option
def explain(  # noqa: PLR0913 - one parameter for each option
    *,
    model: Path,
    text: str | None,
    file: Path | None,
    reference: str | None,
    add_special: bool,
    parse_special: bool,
    full: bool,
    as_json: bool,
    no_color: bool,
) -> None:
    """Explain how TEXT comes to its tokens, stage by stage.

    MODEL is a GGUF file, a tokenizer.json, a sentencepiece .model or a tiktoken file, as FILE.tiktoken:PATTERN.

    The stages are added tokens, normalization, pre-tokens, and then the model, with each decision and what it was
    preferred to. Words that become one token each are left out where they are many. With --reference, the first
    stage is named at which the two part.

    Without TEXT or --file, the text is read from stdin. It is taken exactly as it is.
    """
    from tokverify.explain.explanation import explain as explain_text
    from tokverify.files.load import load_model
    from tokverify.tasks.comparison import open_tokenizers

    source = read_text(text, file)
    encoder, expected = (load_model(model), None) if reference is None else open_tokenizers(model, reference)
    explained = explain_text(encoder, source, expected, add_special=add_special, parse_special=parse_special)
    if as_json:
        from tokverify.report.codec import encode

        write_text(encode(explained))
        return
    from tokverify.render.explain.table import render

    write_text(render(explained, render_options(no_color=no_color, verbose=full)))
