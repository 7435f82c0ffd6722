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
    as_json = format_name == "json"
    if decode is not None:
        if text is not None or file is not None or reference is not None:
            raise click.UsageError("--decode takes ids instead of a text, and has no reference")
        _explain_ids(model, decode, stop_at_eos=stop_at_eos, verbose=verbose, as_json=as_json, no_color=no_color)
        return
    if stop_at_eos:
        raise click.UsageError("--stop-at-eos needs --decode")
    from tokverify.commands.tasks.explain import explain_text
    from tokverify.report.explain_decode import ExposedExplanation

    source = read_raw_text(text, file)
    explanation = explain_text(model, source, reference, add_special=add_special, parse_special=parse_special)
    if as_json:
        from tokverify.report.codec import encode

        write_text(encode(explanation))
        return
    shown = render_options(no_color=no_color, verbose=verbose)
    if isinstance(explanation, ExposedExplanation):
        from tokverify.render.explain.exposed import render as render_exposed

        write_text(render_exposed(explanation, shown))
        return
    from tokverify.render.explain.table import render

    write_text(render(explanation, shown, steps=steps))


def _explain_ids(  # noqa: PLR0913 - one parameter for each option
    model: Path | str, ids: str, *, stop_at_eos: bool, verbose: bool, as_json: bool, no_color: bool
) -> None:
    from tokverify.commands.tasks.explain import explain_ids

    explanation = explain_ids(model, parse_ids(ids), stop_at_eos=stop_at_eos)
    if as_json:
        from tokverify.report.codec import encode

        write_text(encode(explanation))
        return
    from tokverify.render.explain.decoding import render

    write_text(render(explanation, render_options(no_color=no_color, verbose=verbose)))
