"""Copy a GGUF file with some metadata changed, and everything else byte for byte.

The other keys keep their order and their bytes, and so do the tensor table and the tensor data. Only the padding
between metadata and data can change, because the offsets of tensors are relative to the start of the data.
"""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokverify.errors import TokverifyError, UnsupportedError
from tokverify.sources.gguf import metadata as gguf_metadata
from tokverify.sources.gguf.cursor import Cursor
from tokverify.sources.gguf.metadata import Value
from tokverify.sources.gguf.values import pack_pair
from tokverify.sources.gguf.window import GgufFile, open_gguf

_CHUNK = 16 << 20
# With the padding, which a hostile alignment makes huge.
_MAX_HEAD = 1 << 29


@dataclass(frozen=True, slots=True)
class _Outline:
    """The positions of the parts of a file: (start, end) of each pair and of the tensor table, and the tensor data."""

    pairs: Mapping[str, tuple[int, int]]
    version: int
    tensor_count: int
    order: str
    alignment: int
    table: tuple[int, int]
    data: int


def write_patched(source: Path, target: Path, changes: Mapping[str, Value | None], *, name: Path | None = None) -> None:
    """Write a copy of a file with changed values; None removes a key, and new keys are added at the end.

    Args:
        source: The file to copy; it is not modified.
        target: The file to write, which must not exist. It is removed after an error.
        name: The file to name in messages instead of the target, if that is temporary.
        changes: The new values by key. Bytes that are not UTF-8 are lone surrogates, as when reading.

    Raises:
        TokverifyError: If the disk is too full, or a file cannot be read or written.
    """
    with open_gguf(source) as data:
        outline = _outline(source, data)
        if outline.data > _MAX_HEAD:
            raise UnsupportedError(f"{source}: the metadata is larger than {_MAX_HEAD >> 20} MiB, the limit")
        parts = list(_metadata(data, outline, changes))
        size = sum(map(len, parts))
        if outline.tensor_count:
            parts.append(bytes(-size % outline.alignment))
        _require_space(target, sum(map(len, parts)) + len(data) - outline.data, name or target)
        try:
            with target.open("xb") as file:
                try:
                    _write(file, parts, data, outline.data)
                except BaseException:
                    target.unlink(missing_ok=True)
                    raise
        except OSError as error:
            raise TokverifyError(
                f"{name or target}: cannot be written: {error.strerror}; nothing was changed"
            ) from error


def _write(file: Any, parts: Sequence[bytes], data: GgufFile, start: int) -> None:  # noqa: ANN401 - any binary file
    for part in parts:
        file.write(part)
    for position in range(start, len(data), _CHUNK):
        file.write(data.read(position, min(_CHUNK, len(data) - position)))
    file.flush()
    os.fsync(file.fileno())


def _require_space(target: Path, needed: int, name: Path) -> None:
    try:
        free = shutil.disk_usage(target.parent).free
    except OSError as error:
        raise TokverifyError(f"{name.parent}: {error.strerror}; name a file in an existing directory") from error
    if needed > free:
        raise TokverifyError(
            f"{name}: needs {needed:,} bytes, but the disk has {free:,} free; free some space or name another place"
        )


def _outline(path: Path, data: GgufFile) -> _Outline:
    """Find the parts of a file, and check it as when reading."""
    cursor = Cursor(path, data)
    tensor_count, key_count = gguf_metadata.read_header(cursor)
    version = struct.unpack(cursor.order + "I", data.read(4, 4))[0]
    pairs, alignment = gguf_metadata.find_values(cursor, key_count)
    start = cursor.position
    gguf_metadata.read_tensors(cursor, tensor_count, alignment)
    if not tensor_count:
        return _Outline(pairs, version, 0, cursor.order, alignment, (start, start), start)
    # subtle: the position after reading the table is after the padding, at the start of the data.
    return _Outline(pairs, version, tensor_count, cursor.order, alignment, (start, cursor.position), cursor.position)


def _metadata(data: GgufFile, outline: _Outline, changes: Mapping[str, Value | None]) -> Iterator[bytes]:
    pairs = {key: data.read(start, end - start) for key, (start, end) in outline.pairs.items()}
    for key, value in changes.items():
        if value is None:
            pairs.pop(key, None)
        else:
            # Assigning a new value keeps the position of the key.
            pairs[key] = pack_pair(key, value, outline.order)
    yield b"GGUF" + struct.pack(outline.order + "IQQ", outline.version, outline.tensor_count, len(pairs))
    yield from pairs.values()
    yield _table(data, outline)


def _table(data: GgufFile, outline: _Outline) -> bytes:
    """Return the tensor table without the padding after it."""
    start, end = outline.table
    table = data.read(start, end - start)
    position = 0
    for _ in range(outline.tensor_count):
        (length,) = struct.unpack_from(outline.order + "Q", table, position)
        position += 8 + length
        (dimensions,) = struct.unpack_from(outline.order + "I", table, position)
        position += 4 + 8 * dimensions + 4 + 8
    return table[:position]
