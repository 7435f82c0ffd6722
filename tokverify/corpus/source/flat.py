"""Flat files of ids with an index of the documents, as trainers read them; there are no texts."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import BinaryIO

import numpy as np

from tokverify.corpus.document import Columns, Document, Reading, Unreadable
from tokverify.corpus.files import explained, open_file, version_of
from tokverify.corpus.source.flat_index import DatatroveIndex, DolmaIndex, FlatIndex, MegatronIndex, Span
from tokverify.corpus.source.source import Source
from tokverify.corpus.unit import CorpusFile, WorkUnit

_MAX_DOCUMENT_BYTES = 1 << 26
_MAX_DOCUMENTS = 1 << 20
_TYPES = {2: "<u2", 4: "<u4"}


def _units(index: FlatIndex, file: CorpusFile, target_bytes: int) -> Iterator[WorkUnit]:
    """Divide the documents into equal parts; another index makes them other units."""
    count = index.count(file.path)
    with explained():
        file = replace(file, version=f"{file.version} {version_of(index.path_of(file.path))}")
    size = file.size or 0
    step = min(_MAX_DOCUMENTS, max(1, count * target_bytes // max(1, size)))
    for start in range(0, count, step):
        end = min(start + step, count)
        yield WorkUnit(file, start, end, size * (end - start) // count)


def _read(index: FlatIndex, unit: WorkUnit, columns: Columns) -> Reading:  # noqa: ARG001 - there are no columns
    with explained(), open_file(unit.file.path) as file:
        width, spans = index.spans(unit.file.path, unit.file.size or 0, unit.start, unit.end)
        for row, span in enumerate(spans, unit.start):
            yield _document(file, row, span, width)


def _document(file: BinaryIO, row: int, span: Span, width: int) -> Document | Unreadable:
    length = span.end - span.start
    if not 0 <= length <= _MAX_DOCUMENT_BYTES:
        return Unreadable(row, "the document is longer than 64 MiB")
    file.seek(span.start)
    data = file.read(length)
    if len(data) < length:
        return Unreadable(row, "the document lies outside the file")
    ids = np.frombuffer(data, _TYPES[width]).astype(np.uint32)
    return Document(row, None, array("I", ids.tobytes()))


def _source(suffix: str, index: FlatIndex) -> Source:
    return Source(
        suffixes=(suffix,),
        place="document",
        units=partial(_units, index),
        read=partial(_read, index),
        has_ids=True,
        index_path=index.path_of,
    )


MEGATRON = _source(".bin", MegatronIndex())
DATATROVE = _source(".ds", DatatroveIndex())
DOLMA = _source(".npy", DolmaIndex())
