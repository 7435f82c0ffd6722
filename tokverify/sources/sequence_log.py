"""Read a log of token ids: JSON Lines, one sequence per line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from tokverify.system.input_file import UnfitContentError, open_input
from tokverify.system.json_input import JsonError, parse_json

FIELDS: tuple[tuple[str, ...], ...] = (
    ("ids",),
    ("token_ids",),
    ("input_ids",),
    ("tokens",),
    ("prompt_ids", "response_ids"),
    ("prompt_ids", "completion_ids"),
    ("prompt_token_ids", "response_token_ids"),
    ("prompt_token_ids", "token_ids"),
)
"""The fields that hold the ids of a sequence if none are named, the longest combination that a line contains."""

_MAX_LINE_BYTES = 1 << 26
_MAX_ID = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class LoggedSequence:
    """The ids of one line."""

    line: int
    """The line, 1-based."""
    ids: list[int]
    boundaries: tuple[int, ...]
    """The places where the fields meet, as numbers of ids before them."""


def read_log(path: Path, fields: Sequence[str] = ()) -> Iterator[LoggedSequence]:
    """Yield the sequences of a log; blank lines are skipped.

    Args:
        path: The log.
        fields: The fields that hold the ids, in the order in which they are joined; by default, those of `FIELDS`.

    Raises:
        TokverifyError: If the file cannot be read.
        UnfitContentError: If a line is too long, or not an object with lists of ids; the message names the line.
    """
    with open_input(path, "log", stream=True) as file:
        number = 0
        while data := file.readline(_MAX_LINE_BYTES + 1):
            number += 1
            if len(data) > _MAX_LINE_BYTES:
                limit = f"{_MAX_LINE_BYTES >> 20} MiB"
                raise UnfitContentError(path, number, f"line {number} is longer than {limit}, the limit; split it")
            if data.strip():
                yield _read_line(path, number, data, fields)


def _read_line(path: Path, number: int, data: bytes, fields: Sequence[str]) -> LoggedSequence:
    try:
        content = parse_json(data)
    except JsonError as error:
        raise UnfitContentError(
            path, number, f"line {number} is not JSON ({error}); write one object per line"
        ) from error
    if not isinstance(content, dict):
        raise UnfitContentError(path, number, f"line {number} is not a JSON object; write one per line")
    chosen = fields or _choose_fields(path, number, content)
    parts = [_read_ids(path, number, content, field) for field in chosen]
    ends = tuple(accumulate(map(len, parts)))
    return LoggedSequence(number, [id for part in parts for id in part], ends[:-1])


def _choose_fields(path: Path, number: int, content: dict[str, Any]) -> Sequence[str]:
    present = [names for names in FIELDS if content.keys() >= set(names)]
    if not present:
        known = ", ".join(" + ".join(names) for names in FIELDS)
        raise UnfitContentError(path, number, f"line {number} has none of {known}; name its fields with --ids")
    return max(present, key=len)


def _read_ids(path: Path, number: int, content: dict[str, Any], field: str) -> list[int]:
    ids = content.get(field)
    if not isinstance(ids, list) or not all(type(id) is int and 0 <= id <= _MAX_ID for id in ids):
        raise UnfitContentError(path, number, f"line {number}: {field!r} is not a list of ids; name another with --ids")
    return ids
