"""Flat files of ids, written as trainers write them."""

import csv
import gzip
import os
import struct
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest

from support.corpus_maker import corpus_file
from tokverify.corpus.document import Columns, Unreadable
from tokverify.corpus.files import UnreadableFileError
from tokverify.corpus.plan import divide
from tokverify.corpus.source import SOURCES

DOCUMENTS = [[1, 2, 3], [], [70_000 % 65_536], [4, 5], list(range(100)), [6]]
NO_COLUMNS = Columns()


def flatten(documents: Sequence[Sequence[int]], kind: str) -> bytes:
    return b"".join(np.array(ids, kind).tobytes() for ids in documents)


def write_megatron(path: Path, documents: Sequence[Sequence[int]], kind: str = "<u2") -> Path:
    """Write each document as two sequences."""
    halves = [part for ids in documents for part in (ids[: len(ids) // 2], ids[len(ids) // 2 :])]
    sizes = [len(part) for part in halves]
    width, code = (2, 8) if kind == "<u2" else (4, 4)
    starts = [width * start for start in accumulate(sizes, initial=0)][:-1]
    bounds = range(0, len(halves) + 1, 2)
    header = struct.pack("<9sQBQQ", b"MMIDIDX\x00\x00", 1, code, len(sizes), len(bounds))
    index = np.array(sizes, "<i4").tobytes() + np.array(starts, "<i8").tobytes() + np.array(bounds, "<i8").tobytes()
    path.with_suffix(".idx").write_bytes(header + index)
    path.write_bytes(flatten(documents, kind))
    return path


def write_datatrove(path: Path, documents: Sequence[Sequence[int]], kind: str = "<u2") -> Path:
    Path(f"{path}.index").write_bytes(np.array(list(accumulate(map(len, documents))), "<u8").tobytes())
    path.write_bytes(flatten(documents, kind))
    return path


def write_dolma(path: Path, documents: Sequence[Sequence[int]], kind: str = "<u2") -> Path:
    ends = list(accumulate(map(len, documents)))
    with gzip.open(path.with_suffix(".csv.gz"), "wt", newline="") as file:
        for ids, end in zip(documents, ends, strict=True):
            csv.writer(file).writerow([end - len(ids), end, "id, with a comma", "a.jsonl.gz", 1])
    path.write_bytes(flatten(documents, kind))
    return path


FORMATS: dict[str, Callable[..., Path]] = {".bin": write_megatron, ".ds": write_datatrove, ".npy": write_dolma}


def read(path: Path, target_bytes: int = 1 << 20) -> list[object]:
    file = corpus_file(path)
    units = list(divide([file], target_bytes))
    return [item for unit in units for item in SOURCES[file.format].read(unit, NO_COLUMNS)]


@pytest.fixture(params=FORMATS)
def write(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Path]:
    return lambda *arguments: FORMATS[request.param](tmp_path / f"a{request.param}", *arguments)


@pytest.mark.parametrize("kind", ["<u2", "<u4"])
@pytest.mark.parametrize("target_bytes", [1, 50, 1 << 20])
def test_documents_are_read_with_their_numbers(write: Callable[..., Path], kind: str, target_bytes: int):
    found = read(write(DOCUMENTS, kind), target_bytes)
    assert [(document.row, document.text, document.ids.tolist()) for document in found] == [
        (row, None, ids) for row, ids in enumerate(DOCUMENTS)
    ]


def test_a_corpus_without_documents_is_empty(write: Callable[..., Path]):
    assert read(write([])) == []


def test_another_index_makes_other_units(write: Callable[..., Path]):
    path = write(DOCUMENTS)
    before = [unit.id for unit in divide([corpus_file(path)], 1 << 20)]
    (index,) = set(path.parent.iterdir()) - {path}
    os.utime(index, ns=(1, 1))
    assert [unit.id for unit in divide([corpus_file(path)], 1 << 20)] != before


def test_a_file_that_does_not_fit_its_index_is_unreadable(write: Callable[..., Path]):
    path = write(DOCUMENTS)
    path.write_bytes(path.read_bytes()[:-2])
    if path.suffix == ".bin":
        assert read(path)[-1] == Unreadable(5, "the document lies outside the file")
    else:
        with pytest.raises(UnreadableFileError, match="its size does not agree"):
            read(path)


def test_a_missing_index_is_unreadable(tmp_path: Path):
    for suffix in FORMATS:
        path = tmp_path / f"a{suffix}"
        path.write_bytes(b"\0" * 8)
        with pytest.raises(UnreadableFileError, match="does not exist"):
            read(path)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: b"x" + data[1:], "not that of Megatron-LM"),
        (lambda data: data[:17] + b"\x07" + data[18:], "the type with the code 7"),
        (lambda data: data[:-4], "the index of the documents is broken"),
        (lambda data: data[:-8] + b"\xff" * 8, "the index of the documents is broken"),
        (lambda data: data[:26] + b"\xff" * 7 + data[33:], "the index of the documents is broken"),
    ],
)
def test_a_broken_index_of_megatron_is_reported(tmp_path: Path, damage: Callable[[bytes], bytes], message: str):
    path = write_megatron(tmp_path / "a.bin", DOCUMENTS)
    index = path.with_suffix(".idx")
    index.write_bytes(damage(index.read_bytes()))
    with pytest.raises(UnreadableFileError, match=message):
        read(path)
