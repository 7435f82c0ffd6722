"""Files of lines: read those in a byte range, so that neighboring ranges together read each line once; and plain text.

A document of plain text is about 64 KiB of lines. It begins with the first line that begins in a block of 64 KiB,
whatever the units are, so the documents do not depend on how a file is divided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby
from typing import BinaryIO

from tokverify.corpus.document import TO_END, Columns, CorpusFile, Document, Reading, Source, Unreadable, WorkUnit
from tokverify.corpus.files import COMPRESSED, explained, open_stream

MAX_LINE_BYTES = 1 << 26
TOO_LONG = "a line is longer than 64 MiB"
"""The reason why such a line is not read."""


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


TEXT = Source(
    suffixes=(".txt", ".text", ".md"), place="byte", units=partial(byte_ranges, grain=_BLOCK_BYTES), read=_read
)
