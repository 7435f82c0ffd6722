"""Parquet, by groups of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tokverify.corpus.document import TO_END, Column, Columns, CorpusFile, Reading, Source, Unreadable, WorkUnit
from tokverify.corpus.files import UnreadableFileError, explained, open_file
from tokverify.corpus.source.arrow import (
    BATCH_ROWS,
    MAX_PACKED_BYTES,
    MAX_RATIO,
    MAX_TEXT_BYTES,
    TOO_LONG,
    list_columns,
    read_batch,
    require_arrow,
    require_columns,
)

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_MAX_BATCH_BYTES = 1 << 27
_REPEATING = "DELTA_BYTE_ARRAY"
_PACKED = "the row is in a group with more than 256 MiB of text, which is 200 times as much as in the file"
# The errors of pyarrow do not tell which of the two it is.
_UNDECODABLE = "the row is in a group that cannot be decoded: it is corrupt, or pyarrow does not support its format"


@contextmanager
def _open(path: str) -> Iterator[pq.ParquetFile]:
    require_arrow(path)
    import pyarrow.parquet as pq

    with open_file(path, reads_ahead=False) as file:
        with explained():
            table = pq.ParquetFile(file, pre_buffer=False)
        yield table


def _units(file: CorpusFile, target_bytes: int) -> Iterator[WorkUnit]:
    if file.size is not None and file.size <= target_bytes:
        yield WorkUnit(file, size=file.size)
        return
    with _open(file.path) as table:
        sizes = [table.metadata.row_group(index).total_byte_size for index in range(table.num_row_groups)]
    share = (file.size or sum(sizes)) / max(1, sum(sizes))
    start, size = 0, 0.0
    for index, group in enumerate(sizes):
        size += group * share
        if size >= target_bytes or index == len(sizes) - 1:
            yield WorkUnit(file, start, index + 1, int(size))
            start, size = index + 1, 0.0


def _read(unit: WorkUnit, columns: Columns) -> Reading:
    with _open(unit.file.path) as table:
        with explained():
            paths = require_columns(table.schema_arrow, columns)
        end = table.num_row_groups if unit.end == TO_END else unit.end
        row = sum(table.metadata.row_group(index).num_rows for index in range(unit.start))
        for group in range(unit.start, end):
            yield from _read_group(table, group, row, columns, paths)
            row += table.metadata.row_group(group).num_rows


def _read_group(table: pq.ParquetFile, group: int, row: int, columns: Columns, paths: list[str]) -> Reading:
    """Read a group of rows; if its data cannot be decoded, the others can still be read."""
    end = row + table.metadata.row_group(group).num_rows
    try:
        with explained():
            count = max(1, end - row)
            read_columns = list(_list_columns(table.metadata.row_group(group), paths))
            if excess := _find_excess(read_columns, count):
                yield Unreadable(row, excess, count)
                return
            rows = _choose_rows(read_columns, count)
            for batch in table.iter_batches(rows, [group], columns=paths, use_threads=False):
                yield from read_batch(batch, columns, row)
                row += batch.num_rows
    except UnreadableFileError as error:
        if not _is_undecodable(error.__cause__):
            raise
        yield Unreadable(row, _UNDECODABLE, max(1, end - row))


def _list_columns(group: pq.RowGroupMetaData, paths: list[str]) -> Iterator[pq.ColumnChunkMetaData]:
    for column in map(group.column, range(group.num_columns)):
        if any(column.path_in_schema == path or column.path_in_schema.startswith(f"{path}.") for path in paths):
            yield column


def _find_excess(columns: Sequence[pq.ColumnChunkMetaData], count: int) -> str:
    """Say why the columns of a group of `count` rows are not decoded; empty if they are.

    Nothing says how long a single row is before it is decoded, and a few kilobytes can be a row of gigabytes.
    """
    for column in columns:
        size = column.total_uncompressed_size
        if size // count > MAX_TEXT_BYTES:
            return TOO_LONG
        if size > max(MAX_PACKED_BYTES, MAX_RATIO * column.total_compressed_size):
            return _PACKED
    return ""


def _choose_rows(columns: Sequence[pq.ColumnChunkMetaData], count: int) -> int:
    """Return how many of `count` rows to decode at once, so that they take up a bounded space.

    subtle: a value in a dictionary, or the beginning of the value before, can be repeated in each row, so a few
    kilobytes can decode to gigabytes.
    """
    rows = BATCH_ROWS
    for column in columns:
        size = column.total_uncompressed_size
        is_repeated = column.has_dictionary_page or _REPEATING in column.encodings
        largest = size if is_repeated else size // count
        rows = min(rows, max(1, _MAX_BATCH_BYTES // max(1, largest)))
    return rows


def _is_undecodable(error: BaseException | None) -> bool:
    """Check whether pyarrow cannot decode data; errors of the system and of servers have a number or another type."""
    import pyarrow as pa

    return isinstance(error, pa.ArrowException) or (type(error) is OSError and error.errno is None)


def _columns(path: str) -> Sequence[Column]:
    with _open(path) as table:
        return list_columns(table.schema_arrow)


PARQUET = Source(suffixes=(".parquet", ".pq"), place="row", units=_units, read=_read, columns=_columns)
