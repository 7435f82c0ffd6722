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


PROSE = ("README.md", "sub/readme.txt", "LICENSE.txt", "LICENSE-CC.md", "Citation.md")
METADATA = (
    *("dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json", "config.json", "tokenizer.json"),
    *("gpt-2.tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.json", "merges.txt"),
)


def fill(folder, *names):
    (folder / "sub").mkdir()
    for name in names:
        (folder / name).touch()
    return find_files([str(folder)])


@pytest.mark.parametrize("data", ["a.parquet", "a.arrow", "a.jsonl", "a.bin a.idx", "a.ds a.ds.index"])
def test_what_describes_a_corpus_is_ignored(tmp_path, data):
    found = fill(tmp_path, *data.split(), *PROSE, *METADATA)
    assert [name for name, _ in names(found, tmp_path)] == [data.split()[0]]
    assert {path.removeprefix(f"{tmp_path}/") for path in found.ignored} == {*PROSE, *METADATA}


def test_a_corpus_of_texts_may_contain_what_looks_like_a_description(tmp_path):
    found = fill(tmp_path, "a.txt", *PROSE, *METADATA)
    assert {name for name, _ in names(found, tmp_path)} == {"a.txt", *PROSE}


def test_files_that_only_look_like_descriptions_are_a_corpus(tmp_path):
    found = fill(tmp_path, "README.md", "state.json")
    assert [name for name, _ in names(found, tmp_path)] == ["README.md", "state.json"]


def test_a_description_does_not_make_a_flat_file_without_an_index_look_like_something_else(tmp_path):
    found = fill(tmp_path, "a.bin", "README.md")
    assert names(found, tmp_path) == [("a.bin", "megatron")]


@pytest.mark.parametrize("name", ["readmes.txt", "licensed.jsonl", "estate.json", "a.config.json", "README.jsonl"])
def test_a_similar_name_is_that_of_a_document(tmp_path, name):
    found = fill(tmp_path, "a.parquet", name)
    assert name in [name for name, _ in names(found, tmp_path)]


def test_a_description_that_is_named_is_read(tmp_path):
    fill(tmp_path, "a.jsonl", "README.md")
    found = find_files([str(tmp_path), f"{tmp_path}/README.md"])
    assert [name for name, _ in names(found, tmp_path)] == ["README.md", "a.jsonl"]
    assert found.ignored == ()


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
        ("empty", "there are no files in it; check the path"),
        ("pictures", "it contains no Parquet, JSON Lines, Arrow or text files; to read others as text"),
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
