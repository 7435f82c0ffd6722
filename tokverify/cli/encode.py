"""`tokverify encode`: show the token ids of a text."""

from __future__ import annotations

import json
from pathlib import Path

import click

from tokverify.cli.options import (
    TextCommand,
    add_special_option,
    file_option,
    json_option,
    model_argument,
    no_color_option,
    parse_special_option,
)
from tokverify.cli.source import read_raw_text
from tokverify.cli.stream import render_options, write_stderr, write_text


@click.command(cls=TextCommand)
@model_argument
@click.argument("text", required=False)
@file_option
@add_special_option
@parse_special_option
@click.option("--bos", is_flag=True, help="Add BOS even if the file does not declare that it is added.")
@click.option("--eos", is_flag=True, help="Add EOS even if the file does not declare that it is added.")
@json_option
@no_color_option
def encode(  # noqa: PLR0913 - one parameter for each option
    *,
    model: Path,
    text: str | None,
    file: Path | None,
    add_special: bool,
    parse_special: bool,
    bos: bool,
    eos: bool,
    as_json: bool,
    no_color: bool,
) -> None:
    """Encode a text to token ids with the tokenizer in MODEL.

    MODEL is a GGUF file, a tokenizer.json, a sentencepiece .model or a tiktoken file, as FILE.tiktoken:PATTERN.

    Without TEXT or --file, the text is read from stdin, unchanged, including a newline at the end. It need not be valid
    UTF-8: the ids are those that llama.cpp gives for these bytes.
    """
    from tokverify.tasks.encode import encode_text

    source = read_raw_text(text, file)
    encoding = encode_text(model, source, add_special=add_special, parse_special=parse_special, bos=bos, eos=eos)
    for warning in encoding.warnings:
        write_stderr(f"warning: {warning}")
    if as_json:
        ids, pieces = [token.id for token in encoding.tokens], [token.piece for token in encoding.tokens]
        write_text(json.dumps({"ids": ids, "pieces": pieces}) + "\n")
        return
    from tokverify.render.listing import list_tokens

    write_text(list_tokens(encoding.tokens, render_options(no_color=no_color)))
