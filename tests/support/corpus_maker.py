"""Write the same documents in every format of a corpus."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import zstandard

from tokverify.corpus.document import CorpusFile
from tokverify.corpus.locate import find_files


def write_parquet(path: Path, texts: Sequence[object], *, row_group_size: int = 2, **columns: Sequence[object]) -> None:
    table = pa.table({"id": range(len(texts)), "text": texts, **columns})
    pa.parquet.write_table(table, path, row_group_size=row_group_size)


def overwrite_row_group(path: Path, number: int) -> None:
    """Overwrite the texts of a group of rows."""
    column = pa.parquet.ParquetFile(path).metadata.row_group(number).column(1)
    start = column.dictionary_page_offset or column.data_page_offset
    data = bytearray(path.read_bytes())
    data[start : start + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    path.write_bytes(data)


def write_feather(path: Path, texts: Sequence[object]) -> None:
    pa.feather.write_feather(pa.table({"id": range(len(texts)), "text": texts}), str(path), chunksize=2)


def write_arrow_stream(path: Path, texts: Sequence[object]) -> None:
    table = pa.table({"id": range(len(texts)), "text": texts})
    with pa.ipc.new_stream(path, table.schema) as stream:
        stream.write_table(table, max_chunksize=2)


def json_lines(texts: Sequence[object]) -> bytes:
    return b"".join(json.dumps({"id": id, "text": text}).encode() + b"\n" for id, text in enumerate(texts))


def write_json_lines(path: Path, texts: Sequence[object]) -> None:
    data = json_lines(texts)
    if path.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    elif path.suffix == ".zst":
        data = zstandard.compress(data)
    path.write_bytes(data)


WRITERS = {
    "rows.parquet": write_parquet,
    "rows.feather": write_feather,
    "rows.arrow": write_arrow_stream,
    "rows.jsonl": write_json_lines,
    "rows.jsonl.gz": write_json_lines,
    "rows.jsonl.zst": write_json_lines,
}
"""A file name for every way to store rows, and the function that writes it."""


def corpus_file(path: Path | str) -> CorpusFile:
    (file,) = find_files([str(path)]).files
    return file
