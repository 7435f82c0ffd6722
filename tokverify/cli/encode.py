"""`tokverify encode`: show which ids a text gets."""

from __future__ import annotations

import json
from pathlib import Path

import click

from tokverify.cli.options import file_option, json_option, model_argument, no_color_option
from tokverify.cli.output import render_options, tell, write_text
from tokverify.cli.source import read_text


@click.command()
@model_argument
@click.argument("text", required=False)
@file_option
@click.option("--add-special/--no-add-special", help="Add BOS and EOS as the file says. Off by default.")
@click.option(
    "--parse-special/--no-parse-special",
    default=True,
    help="Recognize control tokens in the text. On by default.",
)
@json_option
@no_color_option
def encode(  # noqa: PLR0913 - one parameter for each option
    *,
    model: Path,
    text: str | None,
    file: Path | None,
    add_special: bool,
    parse_special: bool,
    as_json: bool,
    no_color: bool,
) -> None:
    """Encode TEXT to token ids with the tokenizer in MODEL.

    MODEL is a GGUF file, a tokenizer.json, a sentencepiece .model or a tiktoken file, as FILE.tiktoken:PATTERN.

    Without TEXT or --file, the text is read from stdin. It is taken exactly as it is, a newline at its end
    included.
    """
    from tokverify.files.load import load_model
    from tokverify.tokenizer import tokens_of

    source = read_text(text, file)
    encoder = load_model(model)
    ids = encoder.encode(source, add_special=add_special, parse_special=parse_special)
    tokens = tokens_of(encoder, ids)
    for warning in encoder.warnings(ids) if add_special else ():
        tell(f"warning: {warning}")
    if as_json:
        write_text(json.dumps({"ids": ids, "pieces": [token.piece for token in tokens]}) + "\n")
        return
    from tokverify.render.listing import list_tokens

    write_text(list_tokens(tokens, render_options(no_color=no_color)))
