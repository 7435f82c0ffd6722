"""Flat files of ids with an index of where each document begins and ends, as trainers read them; there are no texts.

Sources: `IndexedDataset` in Megatron-LM's `megatron/core/datasets/indexed_dataset.py`; `TokenizedFile` in datatrove's
`pipeline/tokens/tokenizer.py`; dolma's `docs/tokenize.md`.
"""

from __future__ import annotations

import csv
import gzip
import io
import struct
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, pairwise
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, Protocol

import numpy as np

from tokverify.corpus.document import Columns, CorpusFile, Document, Reading, Source, Unreadable, WorkUnit
from tokverify.corpus.files import UnreadableFileError, explained, open_file, version_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAX_DOCUMENT_BYTES = 1 << 26
_MAX_DOCUMENTS = 1 << 20
_TYPES = {2: "<u2", 4: "<u4"}
_MEGATRON = struct.Struct("<9sQBQQ")
_MEGATRON_MAGIC = b"MMIDIDX\x00\x00"
_MEGATRON_SIZES = {4: 4, 8: 2}
"""Code of a type -> bytes: int32, and uint16."""
_MAX_SLICE = 1 << 26
_BROKEN = "the index of the documents is broken"


class Span(NamedTuple):
    """The bytes of a document in a flat file."""

    start: int
    end: int


class _FlatIndex(Protocol):
    """Knows the documents of a flat file, given its path and its size in bytes."""

    def path_of(self, path: str) -> str:
        """Return the path of the index."""

    def count(self, path: str) -> int:
        """Count the documents."""

    def spans(self, path: str, size: int, first: int, last: int) -> tuple[int, Sequence[Span]]:
        """Return the number of bytes of an id, and where the documents from `first` to before `last` are."""


class _MegatronIndex:
    """A `.bin` file of Megatron-LM has an `.idx` file beside it; a document consists of one or more sequences.

    It states the number of bytes of an id; of the others, the size of the file tells it.
    """

    def path_of(self, path: str) -> str:
        return _beside(path, ".idx")

    def count(self, path: str) -> int:
        with explained(), open_file(self.path_of(path)) as file:
            return max(0, self._header(file)[2] - 1)

    def spans(self, path: str, size: int, first: int, last: int) -> tuple[int, Sequence[Span]]:  # noqa: ARG002
        with explained(), open_file(self.path_of(path)) as file:
            width, sequences, _ = self._header(file)
            sizes = _MEGATRON.size
            pointers, documents = sizes + 4 * sequences, sizes + 12 * sequences
            bounds = _read_numbers(file, documents + 8 * first, last - first + 1, "<i8").tolist()
            low, high = bounds[0], bounds[-1]
            if not (0 <= low <= high <= sequences and sorted(bounds) == bounds):
                raise UnreadableFileError(_BROKEN)
            lengths = _read_numbers(file, sizes + 4 * low, high - low, "<i4").tolist()
            starts = _read_numbers(file, pointers + 8 * low, high - low, "<i8").tolist()
        ends = [start + width * length for start, length in zip(starts, lengths, strict=True)]
        parts = [(begin - low, end - low) for begin, end in pairwise(bounds)]
        return width, [Span(starts[begin], ends[end - 1]) if begin < end else Span(0, 0) for begin, end in parts]

    def _header(self, file: BinaryIO) -> tuple[int, int, int]:
        """Return the number of bytes of an id, and how many sequences and document boundaries there are."""
        data = file.read(_MEGATRON.size)
        if len(data) < _MEGATRON.size or not data.startswith(_MEGATRON_MAGIC):
            raise UnreadableFileError("the .idx file beside it is not that of Megatron-LM")
        _, _, code, sequences, boundaries = _MEGATRON.unpack(data)
        if code not in _MEGATRON_SIZES:
            raise UnreadableFileError(f"the ids have the type with the code {code}; int32 and uint16 are supported")
        if file.seek(0, io.SEEK_END) < _MEGATRON.size + 12 * sequences + 8 * boundaries:
            raise UnreadableFileError(_BROKEN)
        return _MEGATRON_SIZES[code], sequences, boundaries


class _DatatroveIndex:
    """A `.ds` file of datatrove has a `.ds.index` file beside it: the end of each document, in ids."""

    def path_of(self, path: str) -> str:
        return f"{path}.index"

    def count(self, path: str) -> int:
        with explained(), open_file(self.path_of(path)) as file:
            return file.seek(0, io.SEEK_END) // 8

    def spans(self, path: str, size: int, first: int, last: int) -> tuple[int, Sequence[Span]]:
        with explained(), open_file(self.path_of(path)) as file:
            total = int(_read_numbers(file, file.seek(0, io.SEEK_END) // 8 * 8 - 8, 1, "<u8")[0])
            ends = _read_numbers(file, 8 * max(0, first - 1), last - max(0, first - 1), "<u8").tolist()
        starts = [0, *ends] if first == 0 else ends
        width = _width(size, total)
        return width, [Span(width * a, width * b) for a, b in pairwise(starts)]


class _DolmaIndex:
    """A `.npy` file of dolma has no header, and a `.csv.gz` file beside it: the start and end of documents, in ids."""

    def path_of(self, path: str) -> str:
        return _beside(path, ".csv.gz")

    def count(self, path: str) -> int:
        with explained(), open_file(self.path_of(path)) as file:
            return sum(1 for _ in _rows(file))

    def spans(self, path: str, size: int, first: int, last: int) -> tuple[int, Sequence[Span]]:
        with explained(), open_file(self.path_of(path)) as file:
            rows = _rows(file)
            wanted = [(int(row[0]), int(row[1])) for row in islice(rows, first, last)]
            total = max([end for _, end in wanted] + [int(row[1]) for row in rows], default=0)
        width = _width(size, total)
        return width, [Span(width * start, width * end) for start, end in wanted]


def _beside(path: str, suffix: str) -> str:
    return path.rpartition(".")[0] + suffix


def _rows(file: BinaryIO) -> Iterator[list[str]]:
    return csv.reader(io.TextIOWrapper(gzip.GzipFile(fileobj=file), encoding="utf-8", newline=""))


def _width(size: int, total: int) -> int:
    if total and size % total == 0 and size // total in {2, 4}:
        return size // total
    raise UnreadableFileError("its size does not agree with the index of the documents")


def _read_numbers(file: BinaryIO, start: int, count: int, kind: str) -> NDArray[np.int64]:
    """Read numbers from a place of a file."""
    wanted = count * np.dtype(kind).itemsize
    if start < 0 or wanted > _MAX_SLICE:
        raise UnreadableFileError(_BROKEN)
    file.seek(start)
    data = file.read(wanted)
    if len(data) < wanted:
        raise UnreadableFileError(_BROKEN)
    return np.frombuffer(data, kind)


def _units(index: _FlatIndex, file: CorpusFile, target_bytes: int) -> Iterator[WorkUnit]:
    """Divide the documents into equal parts; another index makes them other units."""
    count = index.count(file.path)
    with explained():
        file = replace(file, version=f"{file.version} {version_of(index.path_of(file.path))}")
    size = file.size or 0
    step = min(_MAX_DOCUMENTS, max(1, count * target_bytes // max(1, size)))
    for start in range(0, count, step):
        end = min(start + step, count)
        yield WorkUnit(file, start, end, size * (end - start) // count)


def _read(index: _FlatIndex, unit: WorkUnit, columns: Columns) -> Reading:  # noqa: ARG001 - there are no columns
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


def _source(suffix: str, index: _FlatIndex) -> Source:
    return Source(
        suffixes=(suffix,),
        place="document",
        units=partial(_units, index),
        read=partial(_read, index),
        has_ids=True,
        index_path=index.path_of,
    )


MEGATRON = _source(".bin", _MegatronIndex())
DATATROVE = _source(".ds", _DatatroveIndex())
DOLMA = _source(".npy", _DolmaIndex())
