"""`tokverify explain`: show how a text becomes tokens."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

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
from tokverify.commands.cli.parameters import option, takes
from tokverify.commands.cli.progress import READING, StatusLine
from tokverify.commands.cli.source import parse_ids, read_raw_text
from tokverify.commands.cli.stream import render_options, write_text

if TYPE_CHECKING:
    from tokverify.report.explain import DecodingExplanation, Explanation, ExposedExplanation


@dataclass(frozen=True, kw_only=True)
class ExplainOptions:
    """The options of the command."""

    model: Path | str = model_argument()
    text: str | None = text_argument()
    file: Path | None = file_option()
    reference: str | None = reference_option("whose stages to show as well")
    decode: str | None = option(
        "--decode", metavar="IDS", help="Explain how these ids become a text, such as '818 5279'."
    )
    stop_at_eos: bool = stop_at_eos_option()
    llama_cpp: str | None = llama_cpp_option()
    add_special: bool = add_special_option()
    parse_special: bool = parse_special_option()
    steps: bool = option(
        "--steps",
        is_flag=True,
        help="Also show the walk through the charsmap, the lattice after each step, ids and bytes.",
    )
    format_name: str | None = json_option()
    verbose: bool = verbose_option()
    no_color: bool = no_color_option()


@click.command(cls=TextCommand)
@takes(ExplainOptions)
def explain(options: ExplainOptions) -> None:
    """Explain how a text becomes tokens, stage by stage.

    MODEL is a GGUF file, a tokenizer.json, a sentencepiece .model or a tiktoken file, as FILE.tiktoken:PATTERN. For any
    other tokenizer, such as a server, what it exposes is shown.

    The stages are added tokens, normalization, pre-tokens and the model, with each decision and its alternatives.
    In long texts, words that become a single token are left out, unless -v is given. With --reference, the output
    names the first stage at which the two tokenizers diverge.

    Without TEXT or --file, the text is read from stdin, unchanged. It need not be valid UTF-8.

    For scripts, `tokverify encode` and `tokverify decode` write only the ids or the text.
    """
    if options.decode is not None and any(each is not None for each in (options.text, options.file, options.reference)):
        raise click.UsageError("--decode takes ids instead of a text, and has no reference")
    if options.decode is None and options.stop_at_eos:
        raise click.UsageError("--stop-at-eos needs --decode")
    explained = _explain(options)
    if options.format_name == "json":
        from tokverify.report.codec import encode

        write_text(encode(explained))
        return
    from tokverify.render.explain import decoding, exposed, table
    from tokverify.report.explain import Explanation, ExposedExplanation

    shown = render_options(no_color=options.no_color, verbose=options.verbose)
    if isinstance(explained, Explanation):
        write_text(table.render(explained, shown, steps=options.steps))
    elif isinstance(explained, ExposedExplanation):
        write_text(exposed.render(explained, shown))
    else:
        write_text(decoding.render(explained, shown))


def _explain(options: ExplainOptions) -> Explanation | ExposedExplanation | DecodingExplanation:
    from tokverify.commands.tasks.explain import explain_ids, explain_text

    if options.decode is not None:
        return explain_ids(options.model, parse_ids(options.decode), stop_at_eos=options.stop_at_eos)
    # The text may be typed into the terminal that the line is shown in.
    text = read_raw_text(options.text, options.file)
    with StatusLine(enabled=True) as line:
        line.show(READING)
        return explain_text(
            options.model,
            text,
            options.reference,
            add_special=options.add_special,
            parse_special=options.parse_special,
        )
