"""`tokverify decode`: show which text ids stand for."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import click

from tokverify.cli.options import file_option, json_option, model_argument
from tokverify.cli.output import write_bytes, write_text
from tokverify.cli.source import read_text
from tokverify.errors import TokverifyError
from tokverify.text.visible import visible

_SEPARATORS = re.compile(r"[\s,\[\]]+")
_ID = re.compile(r"[0-9]{1,10}")


@click.command()
@model_argument
@click.argument("ids", nargs=-1)
@file_option
@click.option("--raw", is_flag=True, help="Write the bytes exactly as decoded, and nothing else.")
@json_option
def decode(*, model: Path, ids: Sequence[str], file: Path | None, raw: bool, as_json: bool) -> None:
    """Decode token IDS to text with the tokenizer in MODEL.

    MODEL is a GGUF file, a tokenizer.json, a sentencepiece .model or a tiktoken file, as FILE.tiktoken:PATTERN.

    Without IDS or --file, they are read from stdin, separated by spaces, commas or lines; brackets are ignored.
    The text is shown with spaces, newlines and control characters made visible; --raw and --json give it as it
    is.
    """
    from tokverify.files.load import load_model

    if raw and as_json:
        raise click.UsageError("--raw and --json were both given; give one")
    numbers = _parse_ids(read_text(" ".join(ids) if ids else None, file))
    encoder = load_model(model)
    decoded = encoder.decode(numbers)
    if raw:
        write_bytes(decoded)
    elif as_json:
        told = {
            "ids": numbers,
            "pieces": [encoder.piece(number) for number in numbers],
            "text": decoded.decode(errors="replace"),
            "bytes": decoded.hex(),
        }
        write_text(json.dumps(told) + "\n")
    else:
        write_text(f"{visible(decoded)}\n")


def _parse_ids(text: str) -> list[int]:
    words = [word for word in _SEPARATORS.split(text) if word]
    for word in words:
        if not _ID.fullmatch(word):
            raise TokverifyError(f"{word!r} is not a token id; give whole numbers, such as 818 5279")
    return [int(word) for word in words]
