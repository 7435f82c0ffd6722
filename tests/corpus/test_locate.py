import os
import re

import pytest

from tokverify.corpus.locate import find_files
from tokverify.errors import TokverifyError


@pytest.fixture
def folder(tmp_path):
    for name in ("b.parquet", "a.jsonl", "sub/c.txt", "sub/d.jsonl.zst", "_SUCCESS", ".hidden/x.txt", "logo.png"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    return tmp_path


def names(found, folder):
    return [(file.path.removeprefix(f"{folder}/"), file.format) for file in found.files]


def test_a_directory_contributes_the_files_of_known_formats(folder):
    found = find_files([str(folder)])
    assert names(found, folder) == [
        ("a.jsonl", "json_lines"),
        ("b.parquet", "parquet"),
        ("sub/c.txt", "text"),
        ("sub/d.jsonl.zst", "json_lines"),
    ]
    assert found.ignored == (f"{folder}/logo.png",)


def test_a_flat_file_without_an_index_is_ignored_among_other_files(folder):
    (folder / "pytorch_model.bin").touch()
    assert find_files([str(folder)]).ignored == (f"{folder}/logo.png", f"{folder}/pytorch_model.bin")
    assert [file.format for file in find_files([str(folder / "pytorch_model.bin")]).files] == ["megatron"]


def test_a_flat_file_without_an_index_is_not_ignored_among_flat_files(tmp_path):
    for name in ("a.bin", "a.idx", "b.bin", "c.ds", "c.ds.index", "d.npy"):
        (tmp_path / name).touch()
    found = find_files([str(tmp_path)])
    assert [name for name, _ in names(found, tmp_path)] == ["a.bin", "b.bin", "c.ds", "d.npy"]
    assert found.ignored == ()


def test_a_flat_file_with_an_index_is_not_ignored(folder):
    for name in ("a.bin", "a.idx"):
        (folder / name).touch()
    assert "megatron" in [file.format for file in find_files([str(folder)]).files]
    assert "megatron" in [file.format for file in find_files([f"file://{folder}/"]).files]


def test_named_files_and_patterns(folder):
    assert names(find_files([f"{folder}/logo.png"]), folder) == [("logo.png", "text")]
    assert names(find_files([f"{folder}/*.jsonl", f"{folder}/a.jsonl"]), folder) == [("a.jsonl", "json_lines")]
    assert [name for name, _ in names(find_files([f"{folder}/**/*.txt"]), folder)] == ["sub/c.txt"]


def test_a_name_with_wildcards_that_exists(tmp_path):
    (tmp_path / "[1].txt").write_text("x")
    assert names(find_files([f"{tmp_path}/[1].txt"]), tmp_path) == [("[1].txt", "text")]


def test_urls(folder):
    found = find_files([f"file://{folder}/"])
    assert [file.format for file in found.files] == ["json_lines", "parquet", "text", "json_lines"]
    assert all(file.path.startswith("file://") and file.size == 1 for file in found.files)
    assert [file.format for file in find_files([f"file://{folder}/*.parquet"]).files] == ["parquet"]


def test_a_changed_file_has_another_version(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("x")
    before = find_files([str(path)])
    os.utime(path, ns=(1, 1))
    assert find_files([str(path)]) != before


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("missing.txt", "No such file"),
        ("*.nothing", "no file matches; check the pattern"),
        ("empty", "there are no files in it"),
        ("pictures", "none of its 1 files has a known suffix"),
        ("nosuch://bucket/x", "Protocol not known"),
    ],
)
def test_locations_without_files(tmp_path, monkeypatch, location, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a.png").touch()
    with pytest.raises(TokverifyError, match=f"^{re.escape(location)}: .*{message}"):
        find_files([location])
