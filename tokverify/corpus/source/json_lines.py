"""JSON Lines: each line is an object, one of whose fields is the text."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from tokverify.corpus.document import Columns, Document, Reading, Unreadable
from tokverify.corpus.files import UnreadableFileError
from tokverify.corpus.source.lines import TOO_LONG, byte_ranges, read_lines
from tokverify.corpus.source.source import Column, Source
from tokverify.corpus.unit import CorpusFile, WorkUnit

_MAX_SAMPLED_LINES = 100
_DECODE_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_SURROGATE = re.compile(rb"(\\[^u])|\\u[dD][89a-fA-F][0-9a-fA-F]{2}", re.DOTALL)
"""An escaped half of a surrogate pair, or, in the group, another escape, which may be that of a backslash."""


def _units(file: CorpusFile, target_bytes: int) -> Iterator[WorkUnit]:
    yield from byte_ranges(file, target_bytes)


def _read(unit: WorkUnit, columns: Columns) -> Reading:
    decoder = msgspec.json.Decoder(dict[str, Any])
    for start, line in read_lines(unit):
        if line is None:
            yield Unreadable(start, TOO_LONG)
        elif not line.isspace():
            yield _document(decoder, start, line, columns)


def _document(
    decoder: msgspec.json.Decoder[dict[str, Any]], row: int, line: bytes, columns: Columns
) -> Document | Unreadable:
    try:
        fields = decoder.decode(line)
    except _DECODE_ERRORS:
        return Unreadable(row, _explain(decoder, line))
    try:
        text = None if columns.text is None else _text(find_field(fields, columns.text), columns.text)
        ids = None if columns.ids is None else _ids(find_field(fields, columns.ids), columns.ids)
    except _UnfitError as error:
        return Unreadable(row, str(error))
    return Document(row, text, ids)


def _explain(decoder: msgspec.json.Decoder[dict[str, Any]], line: bytes) -> str:
    """Say why a line cannot be decoded."""
    try:
        decoder.decode(_SURROGATE.sub(rb"\1", line))
    except _DECODE_ERRORS:
        return "the line is not a JSON object"
    return "the line contains a lone surrogate, which is not valid text"


class _UnfitError(Exception):
    pass


def find_field(fields: Any, path: str) -> Any:  # noqa: ANN401 - a value in JSON is anything
    """Return the value at a path; a name that contains dots itself is found too."""
    if path in fields:
        return fields[path]
    first, dot, rest = path.partition(".")
    if not dot or not isinstance(fields.get(first), dict):
        raise _UnfitError(f"there is no field {path!r}")
    try:
        return find_field(fields[first], rest)
    except _UnfitError:
        raise _UnfitError(f"there is no field {path!r}") from None


def _text(value: object, name: str) -> str:
    if isinstance(value, str):
        return value
    raise _UnfitError(f"{name!r} is null" if value is None else f"{name!r} is not text")


def _ids(value: object, name: str) -> array[int]:
    try:
        return array("I", value if isinstance(value, list) else [None])
    except (TypeError, OverflowError):
        raise _UnfitError(f"{name!r} is not a list of ids") from None


def _columns(path: str) -> Sequence[Column]:
    """List the fields of the first lines that are objects."""
    found: dict[str, Column] = {}
    for number, (_, line) in enumerate(read_lines(WorkUnit(CorpusFile(path, "json_lines", None, "")))):
        if number == _MAX_SAMPLED_LINES:
            break
        try:
            fields = msgspec.json.decode(line or b"", type=dict[str, Any])
        except _DECODE_ERRORS:
            continue
        found |= {column.path: column for column in _fields(fields, "")}
    if not found:
        raise UnreadableFileError("no line is a JSON object")
    return list(found.values())


def _fields(fields: dict[str, Any], prefix: str) -> Iterator[Column]:
    for name, value in fields.items():
        path = prefix + name
        if isinstance(value, dict):
            yield from _fields(value, f"{path}.")
        else:
            has_ids = isinstance(value, list) and all(type(item) is int for item in value)
            yield Column(path, type(value).__name__, isinstance(value, str), has_ids)


JSON_LINES = Source(suffixes=(".jsonl", ".ndjson", ".json"), place="byte", units=_units, read=_read, columns=_columns)
