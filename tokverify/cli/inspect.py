"""`tokverify inspect`: show what a file's tokenizer is, at a glance or token by token."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokverify.cli.options import json_option, model_argument, no_color_option
from tokverify.cli.output import render_options, write_text

if TYPE_CHECKING:
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

    MODEL is a GGUF file, a tokenizer.json, a sentencepiece .model or a tiktoken file, as FILE.tiktoken:PATTERN.
    The settings are those in effect. Of a GGUF file that cannot be loaded, what it declares is shown, and the reason.
    """
    from tokverify.report.codec import encode
    from tokverify.report.inspect import TokenList

    spec, refusal = _read(model)
    options = render_options(no_color=no_color, verbose=verbose)
    if selection is not None:
        from tokverify.explain.token_search import find_tokens
        from tokverify.render.inspect.table import render_tokens

        listed = TokenList(tuple(find_tokens(spec, selection, is_loadable=refusal is None)))
        write_text(encode(listed) if as_json else render_tokens(listed, options))
        return
    from tokverify.explain.inspection import inspect as inspect_spec
    from tokverify.render.inspect.table import render

    inspection = replace(inspect_spec(spec, refusal), source=str(model))
    write_text(encode(inspection) if as_json else render(inspection, options))


def _read(model: Path) -> tuple[TokenizerSpec, str | None]:
    """Read a tokenizer; of a GGUF file that is refused all that can be read, with the reason."""
    from tokverify.files.gguf.declaration import read_declaration
    from tokverify.files.tokenizer_file import kind_of_model, read_spec

    if kind_of_model(model) != "gguf":
        return read_spec(model), None
    declaration = read_declaration(model)
    return declaration.spec, str(declaration.refusal) if declaration.refusal else None
