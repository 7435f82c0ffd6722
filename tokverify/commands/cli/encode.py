"""`tokverify encode` and `tokverify decode`: show the ids of a text, and the text of ids."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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
from tokverify.commands.cli.parameters import argument, either, option, takes
from tokverify.commands.cli.source import ids_of, map_lines, parse_ids, read_raw_text, read_text, text_of
from tokverify.commands.cli.stream import render_options, write_bytes, write_stderr, write_text
from tokverify.text.visible import visible
from tokverify.text.wording import list_items, plural, verb

if TYPE_CHECKING:
    from tokverify.commands.tasks.encode import Decoding, Encoding
    from tokverify.tokenizer import Token


@dataclass(frozen=True, kw_only=True)
class EncodeOptions:
    """The options of `tokverify encode`."""

    model: Path = model_argument()
    text: str | None = text_argument()
    file: Path | None = file_option()
    llama_cpp: str | None = llama_cpp_option()
    add_special: bool = add_special_option()
    parse_special: bool = parse_special_option()
    bos: bool = option("--bos", is_flag=True, help="Add BOS even if the file does not declare that it is added.")
    eos: bool = option("--eos", is_flag=True, help="Add EOS even if the file does not declare that it is added.")
    part: str | None = either(
        option("--ids", flag_value="ids", help="Write only the ids, separated by spaces."),
        option("--count", flag_value="count", help="Write only the number of tokens."),
    )
    max_tokens: int | None = option(
        "--max-tokens",
        type=click.IntRange(min=1),
        metavar="N",
        help="Exit with 1 if a text needs more than N tokens, such as the size of a context window.",
    )
    format_name: str | None = json_option()
    json_lines: bool = json_lines_option()
    no_color: bool = no_color_option()


@click.command(cls=TextCommand)
@takes(EncodeOptions)
def encode(options: EncodeOptions) -> int:
    """Encode a text to token ids with the tokenizer in MODEL.

    MODEL is a GGUF file, a tokenizer.json, a sentencepiece .model or a tiktoken file, as FILE.tiktoken:PATTERN.

    Without TEXT or --file, the text is read from stdin, unchanged, including a newline at the end. It need not be valid
    UTF-8: the ids are those that llama.cpp gives for these bytes. With --jsonl, each line is a JSON string, or an
    object with `text`. `tokverify decode` reads any output of this command except that of --count.
    """
    from tokverify.commands.tasks.encode import encode_text
    from tokverify.commands.tasks.opening import open_model

    def encode_one(source: str | bytes) -> Encoding:
        return encode_text(
            opened,
            source,
            add_special=options.add_special,
            parse_special=options.parse_special,
            bos=options.bos,
            eos=options.eos,
        )

    encodings: Iterable[Encoding]
    if options.json_lines:
        lines = read_text(options.text, options.file)
        encodings = map_lines(lines, lambda value: encode_one(text_of(value)))
    else:
        source = read_raw_text(options.text, options.file)
        encodings = map(encode_one, [source])
    opened = open_model(options.model)
    counts: list[int] = []
    known: set[str] = set()
    for encoding in encodings:
        for warning in encoding.warnings:
            if warning not in known:
                write_stderr(f"warning: {warning}")
        known.update(encoding.warnings)
        _write(encoding.tokens, options)
        counts.append(len(encoding.tokens))
    return _check_counts(counts, options.max_tokens) if options.max_tokens else 0


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


def _write(tokens: Sequence[Token], options: EncodeOptions) -> None:
    """Write the tokens of one text, or the requested part of them."""
    ids = [token.id for token in tokens]
    if options.format_name == "json" or options.json_lines:
        values = {"ids": ids, "pieces": [token.piece for token in tokens], "count": len(tokens)}
        names = [options.part] if options.part else ["ids", "pieces"]
        write_text(json.dumps({name: values[name] for name in names}) + "\n")
    elif options.part == "ids":
        write_text(" ".join(map(str, ids)) + "\n")
    elif options.part == "count":
        write_text(f"{len(tokens)}\n")
    else:
        from tokverify.render.listing import list_tokens

        write_text(list_tokens(tokens, render_options(no_color=options.no_color)))


@dataclass(frozen=True, kw_only=True)
class DecodeOptions:
    """The options of `tokverify decode`."""

    model: Path = model_argument()
    ids: tuple[str, ...] = argument(nargs=-1)
    file: Path | None = file_option()
    stop_at_eos: bool = stop_at_eos_option()
    raw: bool = option("--raw", is_flag=True, help="Write only the decoded bytes, unchanged.")
    format_name: str | None = json_option()
    json_lines: bool = json_lines_option()


@click.command()
@takes(DecodeOptions)
def decode(options: DecodeOptions) -> None:
    """Decode token ids to text with the tokenizer in MODEL.

    MODEL is a GGUF file, a tokenizer.json, a sentencepiece .model or a tiktoken file, as FILE.tiktoken:PATTERN.

    Without IDS or --file, the ids are read from stdin: integers separated by spaces, commas or newlines, with or
    without brackets, or what `tokverify encode` writes. With --jsonl, each line is a JSON list of ids, or an object
    with `ids`. Spaces, newlines and control characters in the text are made visible, except with --raw, JSON and
    --jsonl.
    """
    from tokverify.commands.tasks.encode import decode_ids
    from tokverify.commands.tasks.opening import open_model

    as_json = options.format_name == "json" or options.json_lines
    if options.raw and as_json:
        raise click.UsageError("use either --raw or JSON, not both")
    text = read_text(" ".join(options.ids) if options.ids else None, options.file)

    def decode_one(ids: list[int]) -> tuple[list[int], Decoding]:
        return ids, decode_ids(opened, ids, stop_at_eos=options.stop_at_eos)

    decodings: Iterable[tuple[list[int], Decoding]]
    if options.json_lines:
        decodings = map_lines(text, lambda value: decode_one(ids_of(value)))
    else:
        decodings = map(decode_one, [parse_ids(text)])
    opened = open_model(options.model)
    for numbers, decoding in decodings:
        if options.raw:
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
