"""`tokverify inspect`: summarize the tokenizer of a file, or list its tokens."""

from __future__ import annotations

from pathlib import Path

import click

from tokverify.commands.cli.options import json_option, model_argument, no_color_option, verbose_option
from tokverify.commands.cli.stream import render_options, write_text
from tokverify.report.inspect import TokenList


@click.command()
@model_argument
@click.option(
    "--tokens",
    "selection",
    metavar="RANGE|PATTERN",
    help="List tokens by id, such as 5,107-137, or by a pattern of their stored text, such as '*_of_*'.",
)
@json_option
@verbose_option
@no_color_option
def inspect(*, model: Path, selection: str | None, as_json: bool, verbose: bool, no_color: bool) -> None:
    """Show MODEL's sizes, token types, special tokens and settings.

    MODEL is a GGUF file, a tokenizer.json, a sentencepiece .model or a tiktoken file, as FILE.tiktoken:PATTERN.
    The settings are the effective ones. If a GGUF file cannot be loaded, what it declares is shown, with the reason.
    """
    from tokverify.commands.tasks.inspect import inspect_model, list_tokens

    shown = inspect_model(model) if selection is None else list_tokens(model, selection)
    if as_json:
        from tokverify.report.codec import encode

        write_text(encode(shown))
    else:
        from tokverify.render.inspect.table import render, render_tokens

        options = render_options(no_color=no_color, verbose=verbose)
        write_text(render_tokens(shown, options) if isinstance(shown, TokenList) else render(shown, options))
