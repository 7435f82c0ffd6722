"""`tokverify inspect`: show what a file's tokenizer is, at a glance or token by token."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tokverify.cli.options import json_option, model_argument, no_color_option
from tokverify.cli.output import render_options, write_text

if TYPE_CHECKING:
    from pathlib import Path

    from tokverify.spec import TokenizerSpec


@click.command()
@model_argument
@click.option(
    "--tokens",
    "selection",
    metavar="RANGE|PATTERN",
    help="List tokens: ids such as 5,107-137, or all whose stored text matches, such as '*_of_*'.",
)
@json_option
@click.option("-v", "--verbose", is_flag=True, help="Nothing folded or left out.")
@no_color_option
def inspect(*, model: Path, selection: str | None, as_json: bool, verbose: bool, no_color: bool) -> None:
    """Show MODEL's sizes, token types, special tokens and settings.

    MODEL is a GGUF file, a tokenizer.json or a sentencepiece .model.
    The settings are those in effect.
    """
    from tokverify.tokenizer_file import read_spec

    spec = read_spec(model)
    options = render_options(no_color=no_color, verbose=verbose)
    if selection is not None:
        from tokverify.formats.inspection import tokens_json
        from tokverify.formats.inspection_table import list_found
        from tokverify.token_search import find_tokens

        found = find_tokens(spec, selection)
        write_text(tokens_json(found) if as_json else list_found(found, options))
        return
    _show(spec, str(model), as_json=as_json, verbose=verbose, no_color=no_color)


def _show(spec: TokenizerSpec, source: str, *, as_json: bool, verbose: bool, no_color: bool) -> None:
    from tokverify.formats.inspection import render_json
    from tokverify.formats.inspection_table import render
    from tokverify.inspection import inspect as look_at

    inspection = look_at(spec)
    if as_json:
        write_text(render_json(inspection, source))
    else:
        write_text(render(inspection, source, render_options(no_color=no_color, verbose=verbose)))
