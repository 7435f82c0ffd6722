"""`tokverify encode` and `tokverify decode`: show the ids of a text, and the text of ids."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokverify.commands.cli.build_option import llama_cpp_option
from tokverify.commands.cli.options import (
    TextCommand,
    add_special_option,
    file_option,
    json_lines_option,
    json_option,
    model_argument,
    no_color_option,
    parse_special_option,
    stop_at_eos_option,
    text_argument,
)
from tokverify.commands.cli.source import ids_of, map_lines, parse_ids, read_raw_text, read_text, text_of
from tokverify.commands.cli.stream import render_options, write_bytes, write_stderr, write_text
from tokverify.text.visible import visible
from tokverify.text.wording import list_items, plural, verb

if TYPE_CHECKING:
    from tokverify.commands.tasks.encode import Decoding, Encoding
    from tokverify.tokenizer import Token


@click.command(cls=TextCommand)
@model_argument
@text_argument
@file_option
@llama_cpp_option
@add_special_option
@parse_special_option
@click.option("--bos", is_flag=True, help="Add BOS even if the file does not declare that it is added.")
@click.option("--eos", is_flag=True, help="Add EOS even if the file does not declare that it is added.")
@click.option("--ids", "part", flag_value="ids", help="Write only the ids, separated by spaces.")
@click.option("--count", "part", flag_value="count", help="Write only the number of tokens.")
@click.option(
    "--max-tokens",
    type=click.IntRange(min=1),
    metavar="N",
    help="Exit with 1 if a text needs more than N tokens, such as the size of a context window.",
)
@json_option
@json_lines_option
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
    part: str | None,
    max_tokens: int | None,
    format_name: str | None,
    json_lines: bool,
    no_color: bool,
) -> int:
    """Encode a text to token ids with the tokenizer in MODEL.

    MODEL is a GGUF file, a tokenizer.json, a sentencepiece .model or a tiktoken file, as FILE.tiktoken:PATTERN.

    Without TEXT or --file, the text is read from stdin, unchanged, including a newline at the end. It need not be valid
    UTF-8: the ids are those that llama.cpp gives for these bytes. With --jsonl, each line is a JSON string, or an
    object with `text`. `tokverify decode` reads any output of this command except that of --count.
    """
    from tokverify.commands.tasks.encode import encode_text
    from tokverify.commands.tasks.opening import open_model

    def encode_one(source: str | bytes) -> Encoding:
        return encode_text(opened, source, add_special=add_special, parse_special=parse_special, bos=bos, eos=eos)

    encodings: Iterable[Encoding]
    if json_lines:
        lines = read_text(text, file)
        encodings = map_lines(lines, lambda value: encode_one(text_of(value)))
    else:
        source = read_raw_text(text, file)
        encodings = map(encode_one, [source])
    opened = open_model(model)
    counts: list[int] = []
    for encoding in encodings:
        for warning in encoding.warnings:
            write_stderr(f"warning: {warning}")
        _write(encoding.tokens, part, as_json=format_name == "json" or json_lines, no_color=no_color)
        counts.append(len(encoding.tokens))
    return _check_counts(counts, max_tokens) if max_tokens else 0


def _check_counts(counts: Sequence[int], most: int) -> int:
    """Say on stderr which texts need more than `most` tokens; return the exit code."""
    longer = [number for number, count in enumerate(counts, start=1) if count > most]
    if not longer:
        return 0
    if len(counts) == 1:
        write_stderr(f"too long: {counts[0]:,} tokens, and at most {most:,} are allowed")
        return 1
    shown = list_items(longer, show=lambda number: f"text {number} ({counts[number - 1]:,})")
    of_all = f"{len(longer):,} of {plural(len(counts), 'text')}"
    write_stderr(f"too long: {of_all} {verb(len(longer), 'need')} more than {most:,} tokens: {shown}")
    return 1


def _write(tokens: Sequence[Token], part: str | None, *, as_json: bool, no_color: bool) -> None:
    """Write the tokens of one text, or the requested part of them."""
    ids = [token.id for token in tokens]
    if as_json:
        values = {"ids": ids, "pieces": [token.piece for token in tokens], "count": len(tokens)}
        names = [part] if part else ["ids", "pieces"]
        write_text(json.dumps({name: values[name] for name in names}) + "\n")
    elif part == "ids":
        write_text(" ".join(map(str, ids)) + "\n")
    elif part == "count":
        write_text(f"{len(tokens)}\n")
    else:
        from tokverify.render.listing import list_tokens

        write_text(list_tokens(tokens, render_options(no_color=no_color)))


@click.command()
@model_argument
@click.argument("ids", nargs=-1)
@file_option
@stop_at_eos_option
@click.option("--raw", is_flag=True, help="Write only the decoded bytes, unchanged.")
@json_option
@json_lines_option
def decode(  # noqa: PLR0913 - one parameter for each option
    *,
    model: Path,
    ids: Sequence[str],
    file: Path | None,
    stop_at_eos: bool,
    raw: bool,
    format_name: str | None,
    json_lines: bool,
) -> None:
    """Decode token ids to text with the tokenizer in MODEL.

    MODEL is a GGUF file, a tokenizer.json, a sentencepiece .model or a tiktoken file, as FILE.tiktoken:PATTERN.

    Without IDS or --file, the ids are read from stdin: integers separated by spaces, commas or newlines, with or
    without brackets, or what `tokverify encode` writes. With --jsonl, each line is a JSON list of ids, or an object
    with `ids`. Spaces, newlines and control characters in the text are made visible, except with --raw, JSON and
    --jsonl.
    """
    from tokverify.commands.tasks.encode import decode_ids
    from tokverify.commands.tasks.opening import open_model

    as_json = format_name == "json" or json_lines
    if raw and as_json:
        raise click.UsageError("use either --raw or JSON, not both")
    text = read_text(" ".join(ids) if ids else None, file)

    def decode_one(ids: list[int]) -> tuple[list[int], Decoding]:
        return ids, decode_ids(opened, ids, stop_at_eos=stop_at_eos)

    decodings: Iterable[tuple[list[int], Decoding]]
    if json_lines:
        decodings = map_lines(text, lambda value: decode_one(ids_of(value)))
    else:
        decodings = map(decode_one, [parse_ids(text)])
    opened = open_model(model)
    for numbers, decoding in decodings:
        if raw:
            write_bytes(decoding.text)
        elif as_json:
            write_text(_to_json(numbers, decoding.pieces, decoding.text))
        else:
            write_text(f"{visible(decoding.text)}\n")


def _to_json(ids: Sequence[int], pieces: Sequence[str], text: bytes) -> str:
    document = {
        "ids": ids[: len(pieces)],
        "pieces": pieces,
        "text": text.decode(errors="replace"),
        "bytes": text.hex(),
    }
    return json.dumps(document) + "\n"
