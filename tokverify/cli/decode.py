"""`tokverify decode`: show the text of token ids."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import click

from tokverify.cli.options import file_option, json_option, model_argument
from tokverify.cli.source import read_text
from tokverify.cli.stream import write_bytes, write_text
from tokverify.errors import TokverifyError
from tokverify.text.visible import visible

_SEPARATORS = re.compile(r"[\s,\[\]]+")
_ID = re.compile(r"[0-9]{1,10}")


@click.command()
@model_argument
@click.argument("ids", nargs=-1)
@file_option
@click.option("--raw", is_flag=True, help="Write only the decoded bytes, unchanged.")
@json_option
def decode(*, model: Path, ids: Sequence[str], file: Path | None, raw: bool, as_json: bool) -> None:
    """Decode token ids to text with the tokenizer in MODEL.

    MODEL is a GGUF file, a tokenizer.json, a sentencepiece .model or a tiktoken file, as FILE.tiktoken:PATTERN.

    Without IDS or --file, the ids are read from stdin, separated by spaces, commas or newlines; brackets are ignored.
    Spaces, newlines and control characters in the text are made visible, except with --raw and --json.
    """
    from tokverify.tasks.encode import decode_ids

    if raw and as_json:
        raise click.UsageError("use either --raw or --json, not both")
    numbers = _parse_ids(read_text(" ".join(ids) if ids else None, file))
    decoding = decode_ids(model, numbers)
    if raw:
        write_bytes(decoding.text)
    elif as_json:
        document = {
            "ids": numbers,
            "pieces": decoding.pieces,
            "text": decoding.text.decode(errors="replace"),
            "bytes": decoding.text.hex(),
        }
        write_text(json.dumps(document) + "\n")
    else:
        write_text(f"{visible(decoding.text)}\n")


def _parse_ids(text: str) -> list[int]:
    words = [word for word in _SEPARATORS.split(text) if word]
    for word in words:
        if not _ID.fullmatch(word):
            raise TokverifyError(f"{word!r} is not a token id; write integers, such as 818 5279")
    return [int(word) for word in words]
