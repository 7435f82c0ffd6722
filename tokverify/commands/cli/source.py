"""Read what a command works on, a text or ids: an argument, a file or stdin."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from tokverify.commands.cli.json_lines import ids_of, parse
from tokverify.errors import TokverifyError
from tokverify.system.input_file import decode_verbatim, read_raw, read_raw_stream, read_verbatim
from tokverify.text.wording import short_repr

_SEPARATORS = re.compile(r"[\s,\[\]]+")
_ID = re.compile(r"[0-9]{1,10}")
_TABLE = re.compile(r"(?:^|\n)(?:(\[[0-9,\s]+\])\n\n)?[0-9,]+ tokens?\n?\Z")
"""The end of the table that `tokverify encode` writes: the ids in brackets, if there are any, and their number."""


def read_text(argument: str | None, file: Path | None) -> str:
    """Return the argument if there is one, otherwise the content of the file, otherwise that of stdin.

    No newline is changed or stripped.

    Raises:
        UsageError: If both are given.
        TokverifyError: If the file cannot be read, or the text is not UTF-8.
    """
    _require_one(argument, file)
    if argument is not None:
        return decode_verbatim(_to_bytes(argument), "the text")
    if file is not None:
        return read_verbatim(file, stream=True)
    return decode_verbatim(read_raw_stream(sys.stdin.buffer, "stdin"), "stdin")


def read_raw_text(argument: str | None, file: Path | None) -> bytes:
    """Return the same as `read_text`, but as bytes that need not be UTF-8.

    Raises:
        UsageError: If both are given.
        TokverifyError: If the file cannot be read.
    """
    _require_one(argument, file)
    if argument is not None:
        return _to_bytes(argument)
    return read_raw(file, stream=True) if file is not None else read_raw_stream(sys.stdin.buffer, "stdin")


def _require_one(argument: str | None, file: Path | None) -> None:
    if argument is not None and file is not None:
        raise click.UsageError("use either an argument or --file, not both")


def _to_bytes(argument: str) -> bytes:
    # Bytes of the command line that are not UTF-8 arrive as lone surrogates.
    return argument.encode("utf-8", "surrogateescape")


def parse_ids(text: str) -> list[int]:
    """Read token ids from anything that `tokverify encode` writes, or separated by spaces, commas or newlines.

    Raises:
        TokverifyError: If something else is among them.
    """
    if text.lstrip().startswith("{"):
        return ids_of(parse(text))
    if table := _TABLE.search(text):
        text = table[1] or ""
    words = [word for word in _SEPARATORS.split(text) if word]
    for word in words:
        if not _ID.fullmatch(word):
            raise TokverifyError(f"{short_repr(word)} is not a token id; write integers, such as 818 5279")
    return [int(word) for word in words]
