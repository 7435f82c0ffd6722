"""Metadata is changed, and everything else is copied."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from support.gguf_maker import flag, make_gguf, make_tensor, numbers, plain, string, strings, uint32
from tokverify.errors import BrokenFileError, TokverifyError
from tokverify.sources.gguf.cursor import ValueType
from tokverify.sources.gguf.metadata import read_metadata
from tokverify.sources.gguf.patch import write_patched

FIELDS = {
    "first": string("a\x00b"),
    "general.alignment": uint32(64),
    "list": strings(["x", "yy"]),
    "numbers": numbers(ValueType.INT32, [1, -2]),
    "last": flag(True),
}
DATA = bytes(range(256)) * 2


def with_tensors(order: str = "<") -> bytes:
    tensors = [make_tensor("t", shape=(64,), order=order), make_tensor("u", shape=(64,), offset=256, order=order)]
    head = make_gguf(FIELDS, tensors=tensors, order=order)
    return head + bytes(-len(head) % 64) + DATA


def patched(tmp_path: Path, content: bytes, changes: dict) -> Path:
    source, target = tmp_path / "source.gguf", tmp_path / "target.gguf"
    source.write_bytes(content)
    write_patched(source, target, changes)
    assert source.read_bytes() == content
    return target


def read(path: Path) -> dict:
    return {key: plain(value.data) for key, value in read_metadata(path, lambda key: True).items()}


@pytest.mark.parametrize("order", ["<", ">"])
def test_without_changes_the_file_is_the_same(tmp_path: Path, order: str):
    content = with_tensors(order)
    assert patched(tmp_path, content, {}).read_bytes() == content
    bare = make_gguf(FIELDS, order=order)
    (tmp_path / "target.gguf").unlink()
    assert patched(tmp_path, bare, {}).read_bytes() == bare


@pytest.mark.parametrize("order", ["<", ">"])
def test_values_are_replaced_in_place_added_at_the_end_and_removed(tmp_path: Path, order: str):
    changes = {
        "list": strings(["zzz", "\udcff", ""]),
        "first": None,
        "new": numbers(ValueType.FLOAT32, [0.5]),
        "absent": None,
    }
    path = patched(tmp_path, with_tensors(order), changes)
    assert read(path) == {
        "general.alignment": 64,
        "list": ["zzz", "\udcff", ""],
        "numbers": [1, -2],
        "last": True,
        "new": [0.5],
    }
    assert list(read(path)) == ["general.alignment", "list", "numbers", "last", "new"]
    assert path.read_bytes().endswith(DATA)
    assert (len(path.read_bytes()) - len(DATA)) % 64 == 0


def test_the_gguf_package_reads_the_same_tensors(tmp_path: Path):
    import gguf

    path = patched(tmp_path, with_tensors(), {"first": string("longer than before, by far, so that data moves")})
    before, after = (gguf.GGUFReader(file) for file in (tmp_path / "source.gguf", path))
    assert [(t.name, t.data.tobytes()) for t in after.tensors] == [(t.name, t.data.tobytes()) for t in before.tensors]
    assert b"".join(tensor.data.tobytes() for tensor in after.tensors) == DATA


def test_a_large_file_is_streamed(tmp_path: Path):
    source, target = tmp_path / "source.gguf", tmp_path / "target.gguf"
    source.write_bytes(with_tensors())
    size = 40 << 20  # more than two chunks; sparse on disk
    with source.open("r+b") as file:
        file.truncate(size)
        file.seek(size - 3)
        file.write(b"end")
    write_patched(source, target, {"last": flag(False)})
    with target.open("rb") as file:
        file.seek(-3, 2)
        assert file.read() == b"end"
    assert target.stat().st_size == size


def test_a_full_disk_is_detected_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10))
    with pytest.raises(TokverifyError, match=r"needs [\d,]+ bytes, but the disk has 10 free"):
        patched(tmp_path, with_tensors(), {})
    assert not (tmp_path / "target.gguf").exists()


def test_an_existing_file_is_not_touched(tmp_path: Path):
    (tmp_path / "target.gguf").write_text("mine")
    with pytest.raises(TokverifyError, match="cannot be written"):
        patched(tmp_path, with_tensors(), {})
    assert (tmp_path / "target.gguf").read_text() == "mine"


def test_a_damaged_file_is_refused(tmp_path: Path):
    with pytest.raises(BrokenFileError, match="truncated"):
        patched(tmp_path, with_tensors()[:-400], {})
    assert not (tmp_path / "target.gguf").exists()
