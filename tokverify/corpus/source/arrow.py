"""Arrow and Feather files, and the streams of record batches that `datasets` stores; each file is one unit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO

from tokverify.corpus.document import Columns, Reading
from tokverify.corpus.files import explained, open_file
from tokverify.corpus.source.arrow_column import BATCH_ROWS, list_columns, read_batch, require_arrow, require_columns
from tokverify.corpus.source.source import Column, Source
from tokverify.corpus.unit import CorpusFile, WorkUnit

if TYPE_CHECKING:
    import pyarrow as pa

_MAGIC = b"ARROW1"
"""How a file begins that is not a stream."""


def _units(file: CorpusFile, target_bytes: int) -> Iterator[WorkUnit]:  # noqa: ARG001 - a stream cannot be divided
    yield WorkUnit(file, size=file.size or 0)


def _open_batches(file: BinaryIO, columns: Columns | None = None) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
    """Open a file or stream; of a file, read only the named columns."""
    from pyarrow import ipc

    magic = file.read(len(_MAGIC))
    file.seek(0)
    if magic != _MAGIC:
        stream = ipc.open_stream(file)
        return stream.schema, stream
    reader = ipc.open_file(file)
    if columns is not None:
        roots = {path.partition(".")[0] for path in (columns.text, columns.ids) if path}
        names = reader.schema.names
        included = [index for index, name in enumerate(names) if name in roots or name in (columns.text, columns.ids)]
        reader = ipc.open_file(file, options=ipc.IpcReadOptions(included_fields=included, use_threads=False))
    return reader.schema, (reader.get_batch(index) for index in range(reader.num_record_batches))


def _read(unit: WorkUnit, columns: Columns) -> Reading:
    require_arrow(unit.file.path)
    row = 0
    with open_file(unit.file.path) as file, explained():
        schema, _ = _open_batches(file)
        require_columns(schema, columns)
        file.seek(0)
        _, batches = _open_batches(file, columns)
        for batch in batches:
            for start in range(0, batch.num_rows, BATCH_ROWS):
                yield from read_batch(batch.slice(start, BATCH_ROWS), columns, row + start)
            row += batch.num_rows


def _columns(path: str) -> Sequence[Column]:
    require_arrow(path)
    with open_file(path) as file, explained():
        schema, _ = _open_batches(file)
        return list_columns(schema)


ARROW = Source(suffixes=(".arrow", ".feather", ".ipc"), place="row", units=_units, read=_read, columns=_columns)
