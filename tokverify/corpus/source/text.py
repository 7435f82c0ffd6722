"""Plain text: each document is about 64 KiB of lines.

A document begins with the first line that begins in a block of 64 KiB, whatever the units are, so the documents do not
depend on how a file is divided.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from tokverify.corpus.document import Columns, Document, Reading, Unreadable
from tokverify.corpus.source.lines import TOO_LONG, byte_ranges, read_lines
from tokverify.corpus.source.source import Source
from tokverify.corpus.unit import CorpusFile, WorkUnit

_BLOCK_BYTES = 1 << 16


def _units(file: CorpusFile, target_bytes: int) -> Iterator[WorkUnit]:
    yield from byte_ranges(file, target_bytes, _BLOCK_BYTES)


def _read(unit: WorkUnit, columns: Columns) -> Reading:  # noqa: ARG001 - a text has no columns
    for _, block in groupby(read_lines(unit), lambda item: item[0] // _BLOCK_BYTES):
        lines = list(block)
        yield _document(lines[0][0], [line for _, line in lines])


def _document(start: int, lines: list[bytes | None]) -> Document | Unreadable:
    if None in lines:
        return Unreadable(start, TOO_LONG)
    try:
        return Document(start, b"".join(filter(None, lines)).decode())
    except UnicodeDecodeError:
        return Unreadable(start, "the text is not UTF-8")


TEXT = Source(suffixes=(".txt", ".text", ".md"), place="byte", units=_units, read=_read)
