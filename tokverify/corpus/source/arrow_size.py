"""Find out how much space the record batches of an Arrow stream take, without decompressing them.

Source: "IPC streaming format" in the Arrow columnar format, `Message.fbs`, and the layout of tables in FlatBuffers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from struct import Struct
from typing import BinaryIO

from tokverify.corpus.files import UnreadableFileError

_UINT16, _UINT32, _INT32, _INT64, _PAIR = Struct("<H"), Struct("<I"), Struct("<i"), Struct("<q"), Struct("<qq")
_CONTINUES = 0xFFFFFFFF
"""Stands before the size of a message, except in files of 2019 and older."""
_DICTIONARY, _BATCH = 2, 3
"""The types of messages with data."""
_MAX_METADATA_BYTES = 1 << 28


def batch_sizes(file: BinaryIO, *, is_all: bool) -> Iterator[tuple[int, int]]:
    """Yield, for each compressed batch of a stream, its size as it is stored and once it is decompressed, in bytes.

    Args:
        file: The file, at the beginning of the stream.
        is_all: Whether nothing follows the stream.

    Raises:
        UnreadableFileError: If the stream is damaged, or something follows it that should not.
    """
    try:
        yield from _sizes(file)
    except (IndexError, ValueError, TypeError) as error:
        raise UnreadableFileError("the file is corrupt") from error
    if is_all and file.read(1):
        raise UnreadableFileError("the file goes on after the end of its stream")


def _sizes(file: BinaryIO) -> Iterator[tuple[int, int]]:
    position, end = file.tell(), file.seek(0, os.SEEK_END)
    while position < end:
        file.seek(position)
        size = _read(_UINT32, file.read(4))
        has_prefix = size == _CONTINUES
        if has_prefix:
            size = _read(_UINT32, file.read(4))
        if size == 0:
            return
        if size > _MAX_METADATA_BYTES:
            raise ValueError(size)
        metadata = file.read(size)
        message = _Table.root(metadata)
        body, body_size = file.tell(), message.number(_INT64, 3)
        if len(metadata) < size or not 0 <= body_size <= end - body:
            raise ValueError(body_size)
        batch = _find_batch(message)
        if batch is not None and batch.place(3):
            yield body_size, sum(_decompressed_size(file, body + start) for start, length in batch.pairs(2) if length)
        position = body + body_size


def _find_batch(message: _Table) -> _Table | None:
    kind, header = message.number(Struct("<B"), 1), message.table(2)
    if kind == _DICTIONARY:
        return header.table(1)
    return header if kind == _BATCH else None


def _decompressed_size(file: BinaryIO, position: int) -> int:
    """Return the size that a compressed buffer begins with; -1, for one that is stored as it is, counts nothing."""
    file.seek(position)
    return max(0, int(_read(_INT64, file.read(8))))


class _Table:
    """A table of a FlatBuffers message."""

    def __init__(self, data: bytes, start: int) -> None:
        self._data = data
        self._start = start
        self._places = start - _read(_INT32, data, start)

    @classmethod
    def root(cls, data: bytes) -> _Table:
        return cls(data, _read(_UINT32, data))

    def place(self, field: int) -> int:
        """Return where the value of a field is; 0 if it has none."""
        entry = 4 + 2 * field
        if entry >= _read(_UINT16, self._data, self._places):
            return 0
        offset = _read(_UINT16, self._data, self._places + entry)
        return self._start + offset if offset else 0

    def number(self, kind: Struct, field: int) -> int:
        place = self.place(field)
        return _read(kind, self._data, place) if place else 0

    def table(self, field: int) -> _Table:
        place = self.place(field)
        if not place:
            raise ValueError(field)
        return _Table(self._data, place + _read(_UINT32, self._data, place))

    def pairs(self, field: int) -> Iterator[tuple[int, int]]:
        """Yield the elements of a list of structures of two 64-bit integers."""
        place = self.place(field)
        start = place + _read(_UINT32, self._data, place) if place else 0
        for index in range(_read(_UINT32, self._data, start) if place else 0):
            at = start + 4 + _PAIR.size * index
            yield _read(_INT64, self._data, at), _read(_INT64, self._data, at + 8)


def _read(kind: Struct, data: bytes, at: int = 0) -> int:
    if at < 0 or at + kind.size > len(data):
        raise IndexError(at)
    number: int = kind.unpack_from(data, at)[0]
    return number
