"""`tokverify explain`: show how a text becomes tokens."""

from __future__ import annotations

from pathlib import Path

import click

from tokverify.commands.cli.build_option import llama_cpp_option
from tokverify.commands.cli.options import (
    TextCommand,
    add_special_option,
    file_option,
    json_option,
    model_argument,
    no_color_option,
    parse_special_option,
    reference_option,
    stop_at_eos_option,
    text_argument,
    verbose_option,
)
from tokverify.commands.cli.source import parse_ids, read_raw_text
from tokverify.commands.cli.stream import render_options, write_text


@click.command(cls=TextCommand)
@model_argument
@text_argument
@file_option
@reference_option("whose stages to show as well")
@click.option("--decode", metavar="IDS", help="Explain how these ids become a text, such as '818 5279'.")
@stop_at_eos_option
@llama_cpp_option
@add_special_option
@parse_special_option
@click.option(
    "--steps", is_flag=True, help="Also show the walk through the charsmap, the lattice after each step, ids and bytes."
)
@json_option
@verbose_option
@no_color_option
def explain(  # noqa: PLR0913 - one parameter for each option
    *,
    model: Path | str,
    text: str | None,
    file: Path | None,
    reference: str | None,
    decode: str | None,
    stop_at_eos: bool,
    add_special: bool,
    parse_special: bool,
    steps: bool,
    format_name: str | None,
    verbose: bool,
    no_color: bool,
) -> None:
    """Explain how a text becomes tokens, stage by stage.

    MODEL is a GGUF file, a tokenizer.json, a sentencepiece .model or a tiktoken file, as FILE.tiktoken:PATTERN. For any
    other tokenizer, such as a server, what it exposes is shown.

    The stages are added tokens, normalization, pre-tokens and the model, with each decision and its alternatives.
    In long texts, words that become a single token are left out, unless -v is given. With --reference, the output
    names the first stage at which the two tokenizers diverge.

    Without TEXT or --file, the text is read from stdin, unchanged. It need not be valid UTF-8.

    For scripts, `tokverify encode` and `tokverify decode` write only the ids or the text.
    """
    if decode is not None and (text is not None or file is not None or reference is not None):
        raise click.UsageError("--decode takes ids instead of a text, and has no reference")
    if decode is None and stop_at_eos:
        raise click.UsageError("--stop-at-eos needs --decode")
    from tokverify.commands.tasks.explain import explain_ids, explain_text
    from tokverify.report.explain import DecodingExplanation, Explanation, ExposedExplanation

    explained: Explanation | ExposedExplanation | DecodingExplanation
    if decode is not None:
        explained = explain_ids(model, parse_ids(decode), stop_at_eos=stop_at_eos)
    else:
        source = read_raw_text(text, file)
        explained = explain_text(model, source, reference, add_special=add_special, parse_special=parse_special)
    if format_name == "json":
        from tokverify.report.codec import encode

        write_text(encode(explained))
        return
    from tokverify.render.explain import decoding, exposed, table

    shown = render_options(no_color=no_color, verbose=verbose)
    if isinstance(explained, Explanation):
        write_text(table.render(explained, shown, steps=steps))
    elif isinstance(explained, ExposedExplanation):
        write_text(exposed.render(explained, shown))
    else:
        write_text(decoding.render(explained, shown))
