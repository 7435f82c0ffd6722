"""Parquet, by groups of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tokverify.corpus.document import Columns, Reading, Unreadable
from tokverify.corpus.files import UnreadableFileError, explained, open_file
from tokverify.corpus.source.arrow_column import (
    BATCH_ROWS,
    MAX_TEXT_BYTES,
    TOO_LONG,
    list_columns,
    read_batch,
    require_arrow,
    require_columns,
)
from tokverify.corpus.source.source import Column, Source
from tokverify.corpus.unit import TO_END, CorpusFile, WorkUnit

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_MAX_BATCH_BYTES = 1 << 27
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
            rows = _choose_rows(table.metadata.row_group(group), paths)
            if not rows:
                yield Unreadable(row, TOO_LONG, max(1, end - row))
                return
            for batch in table.iter_batches(rows, [group], columns=paths, use_threads=False):
                yield from read_batch(batch, columns, row)
                row += batch.num_rows
    except UnreadableFileError as error:
        if not _is_undecodable(error.__cause__):
            raise
        yield Unreadable(row, _UNDECODABLE, max(1, end - row))


def _choose_rows(group: pq.RowGroupMetaData, paths: list[str]) -> int:
    """Return how many rows to decode at once, so that they take up a bounded space; 0 if a row is too long.

    subtle: a value in a dictionary can be repeated in each row, so a few kilobytes can decode to gigabytes.
    """
    rows = BATCH_ROWS
    for column in map(group.column, range(group.num_columns)):
        if not any(column.path_in_schema == path or column.path_in_schema.startswith(f"{path}.") for path in paths):
            continue
        size = column.total_uncompressed_size
        average = size // max(1, group.num_rows)
        if average > MAX_TEXT_BYTES:
            return 0
        largest = size if column.has_dictionary_page else average
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
