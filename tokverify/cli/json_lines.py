"""Read texts and token ids from JSON: one document, or one on each line (JSON Lines, https://jsonlines.org)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tokverify.errors import TokverifyError
from tokverify.system.json_input import JsonError, parse_json

_MAX_ID = (1 << 32) - 1


def read_texts(lines: str) -> Iterator[str]:
    """Yield the text of each line, which is a string or an object with `text`; empty lines are skipped.

    Raises:
        TokverifyError: If a line is neither.
    """
    for number, value in _values(lines):
        text = value.get("text") if isinstance(value, dict) else value
        if not isinstance(text, str):
            raise TokverifyError(
                f'line {number}: no text; write a string, or an object with "text", such as {{"text": "a b"}}'
            )
        yield text


def read_id_lists(lines: str) -> Iterator[list[int]]:
    """Yield the ids of each line, which is a list or an object with `ids`; empty lines are skipped.

    Raises:
        TokverifyError: If a line is neither.
    """
    for number, value in _values(lines):
        yield ids_of(value, f"line {number}: ")


def ids_of(value: object, where: str = "") -> list[int]:
    """Return the ids of a JSON value: a list, or an object with `ids`, such as `tokverify encode --json` writes.

    Raises:
        TokverifyError: If it is neither; `where` begins the message.
    """
    ids = value.get("ids") if isinstance(value, dict) else value
    if isinstance(ids, list) and all(type(id) is int and 0 <= id <= _MAX_ID for id in ids):
        return ids
    raise TokverifyError(f'{where}no ids; write a list of integers, or an object with "ids", such as {{"ids": [5]}}')


def parse(document: str) -> Any:  # noqa: ANN401 - JSON is anything
    """Parse one document.

    Raises:
        TokverifyError: If it is not JSON.
    """
    try:
        return parse_json(document.encode())
    except JsonError as error:
        raise TokverifyError(f"not valid JSON: {error}; if each line is a value of its own, use --jsonl") from None


def _values(lines: str) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(lines.split("\n"), 1):
        if line.strip():
            yield number, _parse_line(number, line)


def _parse_line(number: int, line: str) -> Any:  # noqa: ANN401 - likewise
    try:
        return parse_json(line.encode())
    except JsonError as error:
        raise TokverifyError(f"line {number}: not valid JSON: {error}; write one value on each line") from None
