"""Read texts and token ids from JSON: one document, or one on each line (JSON Lines, https://jsonlines.org)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from tokverify.errors import TokverifyError
from tokverify.system.json_input import JsonError, parse_json

Result = TypeVar("Result")

_MAX_ID = (1 << 32) - 1


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


def parse(document: str) -> Any:  # noqa: ANN401 - JSON is anything
    """Parse one document.

    Raises:
        TokverifyError: If it is not JSON.
    """
    return _parse(document, "if each line is a value of its own, use --jsonl")


def _parse(document: str, advice: str) -> Any:  # noqa: ANN401 - likewise
    try:
        return parse_json(document.encode())
    except JsonError as error:
        raise TokverifyError(f"not valid JSON: {error}; {advice}") from None
