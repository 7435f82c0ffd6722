"""`tokverify explain`: show how a text becomes tokens."""

from __future__ import annotations

from pathlib import Path

import click

from tokverify.cli.options import (
    add_special_option,
    file_option,
    json_option,
    model_argument,
    no_color_option,
    parse_special_option,
    reference_option,
)
from tokverify.cli.source import read_text
from tokverify.cli.stream import render_options, write_text


@click.command()
@model_argument
@click.argument("text", required=False)
@file_option
@reference_option("Also show the stages of this reference.")
@add_special_option
@parse_special_option
@click.option("--full", is_flag=True, help="Show every word, even in long texts.")
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
    """Explain how a text becomes tokens, stage by stage.

    MODEL is a GGUF file, a tokenizer.json, a sentencepiece .model or a tiktoken file, as FILE.tiktoken:PATTERN.

    The stages are added tokens, normalization, pre-tokens and the model, with each decision and its alternatives.
    In long texts, words that become a single token are left out. With --reference, the output names the first stage
    at which the two tokenizers diverge.

    Without TEXT or --file, the text is read from stdin, unchanged.
    """
    from tokverify.tasks.explain import explain_text

    source = read_text(text, file)
    explanation = explain_text(model, source, reference, add_special=add_special, parse_special=parse_special)
    if as_json:
        from tokverify.report.codec import encode

        write_text(encode(explanation))
        return
    from tokverify.render.explain.table import render

    write_text(render(explanation, render_options(no_color=no_color, verbose=full)))
