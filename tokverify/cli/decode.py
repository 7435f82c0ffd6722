"""`tokverify decode`: show the text of token ids."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from tokverify.cli.options import file_option, json_option, model_argument
from tokverify.cli.source import parse_ids, read_text
from tokverify.cli.stream import write_bytes, write_text
from tokverify.text.visible import visible


@click.command()
@model_argument
@click.argument("ids", nargs=-1)
@file_option
@click.option("--stop-at-eos", is_flag=True, help="Stop before the first token that ends a generation, such as EOS.")
@click.option("--raw", is_flag=True, help="Write only the decoded bytes, unchanged.")
@json_option
def decode(  # noqa: PLR0913 - one parameter for each option
    *, model: Path, ids: Sequence[str], file: Path | None, stop_at_eos: bool, raw: bool, as_json: bool
) -> None:
    """Decode token ids to text with the tokenizer in MODEL.

    MODEL is a GGUF file, a tokenizer.json, a sentencepiece .model or a tiktoken file, as FILE.tiktoken:PATTERN.

    Without IDS or --file, the ids are read from stdin, separated by spaces, commas or newlines; brackets are ignored.
    Spaces, newlines and control characters in the text are made visible, except with --raw and --json.
    """
    from tokverify.tasks.encode import decode_ids

    if raw and as_json:
        raise click.UsageError("use either --raw or --json, not both")
    numbers = parse_ids(read_text(" ".join(ids) if ids else None, file))
    decoding = decode_ids(model, numbers, stop_at_eos=stop_at_eos)
    if raw:
        write_bytes(decoding.text)
    elif as_json:
        document = {
            "ids": numbers[: len(decoding.pieces)],
            "pieces": decoding.pieces,
            "text": decoding.text.decode(errors="replace"),
            "bytes": decoding.text.hex(),
        }
        write_text(json.dumps(document) + "\n")
    else:
        write_text(f"{visible(decoding.text)}\n")
