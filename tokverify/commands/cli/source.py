"""Read what a command works on, texts or ids: an argument, a file or stdin, as they are or in JSON.

JSON is one document, or one on each line (JSON Lines, https://jsonlines.org).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click

from tokverify.errors import TokverifyError
from tokverify.system.input_file import decode_verbatim, read_raw, read_raw_stream
from tokverify.system.json_input import JsonError, parse_json
from tokverify.text.wording import short_repr

Result = TypeVar("Result")

_MAX_ID = (1 << 32) - 1
_SEPARATORS = re.compile(r"[\s,\[\]]+")
_ID = re.compile(r"[0-9]{1,10}")
_TABLE = re.compile(r"(?:^|\n)(?:(\[[0-9,\s]+\])\n\n)?[0-9,]+ tokens?\n?\Z")
"""The end of the table that `tokverify encode` writes: the ids in brackets, if there are any, and their number."""


def read_text(argument: str | None, file: Path | None) -> str:
    """Return the same as `read_raw_text`, which must be UTF-8, as a text; no newline is changed or stripped."""
    source = "the text" if argument is not None else "stdin" if file is None else str(file)
    return decode_verbatim(read_raw_text(argument, file), source)


def read_raw_text(argument: str | None, file: Path | None) -> bytes:
    """Return the argument if there is one, otherwise the content of the file, otherwise that of stdin.

    Raises:
        UsageError: If both are given.
        TokverifyError: If the file cannot be read.
    """
    if argument is not None and file is not None:
        raise click.UsageError("use either an argument or --file, not both")
    if argument is not None:
        # Bytes of the command line that are not UTF-8 arrive as lone surrogates.
        return argument.encode("utf-8", "surrogateescape")
    return read_raw(file, stream=True) if file is not None else read_raw_stream(sys.stdin.buffer, "stdin")


def parse_ids(text: str) -> list[int]:
    """Read token ids from anything that `tokverify encode` writes, or separated by spaces, commas or newlines.

    Raises:
        TokverifyError: If something else is among them.
    """
    if text.lstrip().startswith("{"):
        return ids_of(_parse(text, "if each line is a value of its own, use --jsonl"))
    if table := _TABLE.search(text):
        text = table[1] or ""
    words = [word for word in _SEPARATORS.split(text) if word]
    for word in words:
        if not _ID.fullmatch(word):
            raise TokverifyError(f"{short_repr(word)} is not a token id; write integers, such as 818 5279")
    return [int(word) for word in words]


def map_lines(lines: str, convert: Callable[[Any], Result]) -> Iterator[Result]:
    """Yield what `convert` makes of the value on each line; empty lines are skipped.

    Raises:
        TokverifyError: If a line is not JSON or cannot be converted; it names the line.
    """
    for number, line in enumerate(lines.split("\n"), 1):
        if line.strip():
            try:
                result = convert(_parse(line, "write one value on each line"))
            except TokverifyError as error:
                raise TokverifyError(f"line {number}: {error}") from error
            yield result


def text_of(value: object) -> str:
    """Return the text of a JSON value: a string, or an object with `text`.

    Raises:
        TokverifyError: If it is neither.
    """
    text = value.get("text") if isinstance(value, dict) else value
    if isinstance(text, str):
        return text
    raise TokverifyError('no text; write a string, or an object with "text", such as {"text": "a b"}')


def ids_of(value: object) -> list[int]:
    """Return the ids of a JSON value: a list, or an object with `ids`, such as `tokverify encode --json` writes.

    Raises:
        TokverifyError: If it is neither.
    """
    ids = value.get("ids") if isinstance(value, dict) else value
    if isinstance(ids, list) and all(type(id) is int and 0 <= id <= _MAX_ID for id in ids):
        return ids
    raise TokverifyError('no ids; write a list of integers, or an object with "ids", such as {"ids": [5]}')


def _parse(document: str, advice: str) -> Any:  # noqa: ANN401 - JSON is anything
    try:
        return parse_json(document.encode())
    except JsonError as error:
        raise TokverifyError(f"not valid JSON: {error}; {advice}") from None
