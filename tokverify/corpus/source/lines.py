"""Files of lines: read those in a byte range, so that neighboring ranges together read each line once.

A document of plain text is about 64 KiB of lines. It begins with the first line that begins in a block of 64 KiB,
whatever the units are, so the documents do not depend on how a file is divided. In JSON Lines, each line is an object,
one of whose fields is the text.
"""

from __future__ import annotations

import codecs
import json
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby
from typing import Any, BinaryIO

import msgspec

from tokverify.corpus.document import (
    TO_END,
    Column,
    Columns,
    CorpusFile,
    Document,
    Reading,
    Source,
    Unreadable,
    WorkUnit,
    ids_with_list,
)
from tokverify.corpus.files import COMPRESSED, UnreadableFileError, explained, open_stream

MAX_LINE_BYTES = 1 << 26
TOO_LONG = "a line is longer than 64 MiB"
"""The reason why such a line is not read."""
_MAX_SAMPLED_LINES = 100
_DECODE_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_SURROGATE = re.compile(rb"(\\[^u])|\\u[dD][89a-fA-F][0-9a-fA-F]{2}", re.DOTALL)
"""An escaped half of a surrogate pair, or, in the group, another escape, which may be that of a backslash."""


def byte_ranges(file: CorpusFile, target_bytes: int, grain: int = 1) -> Iterable[WorkUnit]:
    """Divide a file into byte ranges whose ends are multiples of `grain`; a compressed file is not divided."""
    step = max(grain, target_bytes // grain * grain)
    if file.size is None or file.size <= step or file.path.endswith(COMPRESSED):
        return [WorkUnit(file, size=file.size or 0)]
    starts = range(0, file.size, step)
    return [WorkUnit(file, start, min(start + step, file.size), min(step, file.size - start)) for start in starts]


def read_lines(unit: WorkUnit) -> Iterator[tuple[int, bytes | None]]:
    """Yield the lines that begin in the range of a unit, each with the byte at which it begins.

    A line longer than `MAX_LINE_BYTES` is None, so that it does not fill the memory.

    Raises:
        UnreadableFileError: If the file cannot be read any further.
    """
    with open_stream(unit.file.path) as file, explained():
        yield from _lines_from(file, _seek_line(file, unit.start), unit.end)


def _seek_line(file: BinaryIO, start: int) -> int:
    """Move to the first line that begins at `start` or later, and return where it begins."""
    if start:
        file.seek(start - 1)
        _skip_line(file)
        return file.tell()
    return 0


def _lines_from(file: BinaryIO, position: int, end: int) -> Iterator[tuple[int, bytes | None]]:
    while end == TO_END or position < end:
        line = file.readline(MAX_LINE_BYTES)
        if not line:
            return
        length = len(line)
        if length == MAX_LINE_BYTES and not line.endswith(b"\n"):
            length += _skip_line(file)
            yield position, None
        else:
            yield position, line
        position += length


def _skip_line(file: BinaryIO) -> int:
    """Skip the rest of a line, and return its length."""
    skipped = 0
    while chunk := file.readline(1 << 20):
        skipped += len(chunk)
        if chunk.endswith(b"\n"):
            break
    return skipped


_BLOCK_BYTES = 1 << 16


def _read_text(unit: WorkUnit, columns: Columns) -> Reading:  # noqa: ARG001 - a text has no columns
    for _, block in groupby(read_lines(unit), lambda item: item[0] // _BLOCK_BYTES):
        lines = list(block)
        yield _text_document(lines[0][0], [line for _, line in lines])


def _text_document(start: int, lines: list[bytes | None]) -> Document | Unreadable:
    if None in lines:
        return Unreadable(start, TOO_LONG)
    try:
        return Document(start, b"".join(filter(None, lines)).decode())
    except UnicodeDecodeError:
        return Unreadable(start, "the text is not UTF-8")


TEXT = Source(
    suffixes=(".txt", ".text", ".md"), place="byte", units=partial(byte_ranges, grain=_BLOCK_BYTES), read=_read_text
)


def _read_objects(unit: WorkUnit, columns: Columns) -> Reading:
    decoder = msgspec.json.Decoder(dict[str, Any])
    for start, line in read_lines(unit):
        if line is None:
            yield Unreadable(start, TOO_LONG)
        elif not line.isspace():
            yield from _documents(decoder, start, line, columns)


def _documents(decoder: msgspec.json.Decoder[dict[str, Any]], row: int, line: bytes, columns: Columns) -> Reading:
    line = _without_mark(row, line)
    fields = _decode(decoder, line)
    if fields is None:
        yield Unreadable(row, _explain(decoder, line))
        return
    try:
        texts = [None] if columns.text is None else _texts_at(fields, columns.text)
        ids = None if columns.ids is None else _ids_at(fields, columns.ids)
    except UnfitError as error:
        yield Unreadable(row, str(error), is_null=error.is_null)
        return
    if ids is not None and len(texts) != 1:
        yield Unreadable(row, ids_with_list(columns.text))
        return
    for text in texts:
        yield Document(row, text, ids)


def _without_mark(row: int, line: bytes) -> bytes:
    return line if row else line.removeprefix(codecs.BOM_UTF8)


def _decode(decoder: msgspec.json.Decoder[dict[str, Any]], line: bytes) -> dict[str, Any] | None:
    """Decode a line; None if it is not an object, or contains text that is not valid."""
    try:
        return decoder.decode(line)
    except _DECODE_ERRORS:
        return _decode_leniently(line)


def _decode_leniently(line: bytes) -> dict[str, Any] | None:
    """Decode a line with numbers that JSON does not allow, such as NaN and 1e999, as Python itself writes them."""
    try:
        fields = json.loads(line)
        json.dumps(fields, ensure_ascii=False).encode()  # fails if there is half a surrogate pair
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def _explain(decoder: msgspec.json.Decoder[dict[str, Any]], line: bytes) -> str:
    """Say why a line cannot be decoded."""
    try:
        decoder.decode(_SURROGATE.sub(rb"\1", line))
    except _DECODE_ERRORS:
        return "the line is not a JSON object"
    return "the line contains a lone surrogate, which is not valid text"


def _columns(path: str) -> Sequence[Column]:
    """List the fields of the first lines that are objects."""
    found: dict[str, Column] = {}
    decoder = msgspec.json.Decoder(dict[str, Any])
    for number, (start, line) in enumerate(read_lines(WorkUnit(CorpusFile(path, "json_lines", None, "")))):
        if number == _MAX_SAMPLED_LINES:
            break
        for column in _list_fields(_decode(decoder, _without_mark(start, line or b"")) or {}):
            if column.path not in found or column.has_text or column.has_ids:
                found[column.path] = column
    if not found:
        raise UnreadableFileError("none of the first lines is a JSON object")
    return list(found.values())


class UnfitError(Exception):
    """An object lacks a field, or has another type of value there."""

    is_null = False
    """Whether it is null, or in something that is null."""


class NullError(UnfitError):
    """A field, or something around it, is null."""

    is_null = True


def _texts_at(fields: dict[str, Any], path: str) -> list[str]:
    """Return the text at a path; if lists are on the way, each text in them, without null and missing fields.

    Raises:
        UnfitError: If there is no such field, or something else is there.
    """
    values = list(_values(fields, path, path))
    for value in values:
        if not isinstance(value, str):
            raise UnfitError(f"{path!r} is not text")
    return values


def _values(value: Any, rest: str, path: str, *, in_list: bool = False) -> Iterator[Any]:  # noqa: ANN401 - any JSON
    """Yield what is at the `rest` of a path."""
    if isinstance(value, list):
        for item in value:
            yield from _values(item, rest, path, in_list=True)
    elif value is None:
        if not in_list:
            raise NullError(f"{path!r} is null")
    elif not rest:
        yield value
    elif found := _enter(value, rest):
        yield from _values(*found, path, in_list=in_list)
    elif not in_list or not isinstance(value, dict):
        raise _missing(path)


def _enter(value: Any, rest: str) -> tuple[Any, str] | None:  # noqa: ANN401 - any JSON
    """Go into the field that begins a path, and return what is left of it; a name that contains dots is found, too."""
    if not isinstance(value, dict):
        return None
    if rest in value:
        return value[rest], ""
    first, _, others = rest.partition(".")
    return (value[first], others) if others and first in value else None


def _missing(path: str) -> UnfitError:
    return UnfitError(f"there is no field {path!r}")


def _ids_at(fields: dict[str, Any], path: str) -> array[int]:
    """Return the ids at a path.

    Raises:
        UnfitError: If there is no such field, or something else is there.
    """
    value: Any = fields
    rest = path
    while rest:
        found = _enter(value, rest)
        if found is None:
            raise _missing(path)
        value, rest = found
        if value is None:
            raise NullError(f"{path!r} is null")
    if isinstance(value, list):
        with suppress(TypeError, OverflowError):
            return array("I", value)
    raise UnfitError(f"{path!r} is not a list of ids")


def _list_fields(fields: dict[str, Any]) -> Iterator[Column]:
    """Yield the fields of an object, at any depth; the same one for each item of a list."""
    for name, value in fields.items():
        yield from _list_columns(value, name, in_lists=False)


def _list_columns(value: Any, path: str, *, in_lists: bool) -> Iterator[Column]:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _list_columns(inner, f"{path}.{name}", in_lists=in_lists)
    elif not isinstance(value, list):
        yield Column(path, type(value).__name__, isinstance(value, str), has_ids=False, in_lists=in_lists)
    elif any(isinstance(item, (dict, list)) for item in value):
        for item in value:
            yield from _list_columns(item, path, in_lists=True)
    else:
        has_text = any(isinstance(item, str) for item in value)
        has_ids = not in_lists and all(type(item) is int for item in value)
        yield Column(path, "list", has_text, has_ids, in_lists=True)


JSON_LINES = Source(
    suffixes=(".jsonl", ".ndjson", ".json"), place="byte", units=byte_ranges, read=_read_objects, columns=_columns
)
