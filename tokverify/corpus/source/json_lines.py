"""JSON Lines: each line is an object, one of whose fields is the text."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from tokverify.corpus.document import Columns, Document, Reading, Unreadable
from tokverify.corpus.files import UnreadableFileError
from tokverify.corpus.source.json_field import UnfitError, ids_at, list_fields, texts_at
from tokverify.corpus.source.lines import TOO_LONG, byte_ranges, read_lines
from tokverify.corpus.source.source import Column, Source, ids_with_list
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
            yield from _documents(decoder, start, line, columns)


def _documents(decoder: msgspec.json.Decoder[dict[str, Any]], row: int, line: bytes, columns: Columns) -> Reading:
    if row == 0:
        line = line.removeprefix(codecs.BOM_UTF8)
    fields: dict[str, Any] | None
    try:
        fields = decoder.decode(line)
    except _DECODE_ERRORS:
        fields = _decode_leniently(line)
    if fields is None:
        yield Unreadable(row, _explain(decoder, line))
        return
    try:
        texts = [None] if columns.text is None else texts_at(fields, columns.text)
        ids = None if columns.ids is None else ids_at(fields, columns.ids)
    except UnfitError as error:
        yield Unreadable(row, str(error), is_null=error.is_null)
        return
    if ids is not None and len(texts) != 1:
        yield Unreadable(row, ids_with_list(columns.text))
        return
    for text in texts:
        yield Document(row, text, ids)


def _decode_leniently(line: bytes) -> dict[str, Any] | None:
    """Decode a line with numbers that JSON does not allow, such as NaN and 1e999, as Python's own library writes them.

    None if it is not an object, or contains text that is not valid.
    """
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
    for number, (_, line) in enumerate(read_lines(WorkUnit(CorpusFile(path, "json_lines", None, "")))):
        if number == _MAX_SAMPLED_LINES:
            break
        try:
            fields = msgspec.json.decode((line or b"").removeprefix(codecs.BOM_UTF8), type=dict[str, Any])
        except _DECODE_ERRORS:
            continue
        for column in list_fields(fields):
            if column.path not in found or column.has_text or column.has_ids:
                found[column.path] = column
    if not found:
        raise UnreadableFileError("none of the first lines is a JSON object")
    return list(found.values())


JSON_LINES = Source(suffixes=(".jsonl", ".ndjson", ".json"), place="byte", units=_units, read=_read, columns=_columns)
