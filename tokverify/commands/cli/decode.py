"""`tokverify decode`: show the text of token ids."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokverify.commands.cli.options import (
    file_option,
    json_lines_option,
    json_option,
    model_argument,
    stop_at_eos_option,
)
from tokverify.commands.cli.source import ids_of, map_lines, parse_ids, read_text
from tokverify.commands.cli.stream import write_bytes, write_text
from tokverify.text.visible import visible

if TYPE_CHECKING:
    from tokverify.commands.tasks.encode import Decoding


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
