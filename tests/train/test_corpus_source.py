"""Sources of a corpus: files, directories, compressed files and stdin."""

import gzip
import io
from pathlib import Path
from types import SimpleNamespace

import pytest

from tokverify.errors import TokverifyError
from tokverify.train import corpus_source
from tokverify.train.corpus import read_blocks
from tokverify.train.corpus_source import STDIN, open_corpus
from tokverify.train.preparation import Preparation


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "b.cpp").write_text("b\n")
    (tmp_path / "sub" / "a.h.gz").write_bytes(gzip.compress(b"a\n", mtime=0))
    (tmp_path / "sub" / "binary").write_bytes(b"\0\1")
    (tmp_path / "latin1.cpp").write_bytes(b"caf\xe9")
    (tmp_path / ".git" / "config").write_text("hidden\n")
    (tmp_path / ".hidden").write_text("hidden\n")
    return tmp_path


def test_a_directory_means_all_text_files_below_it(folder: Path):
    with open_corpus([folder]) as opened:
        assert "".join(read_blocks(opened.files)) == "b\na\n"
        assert opened.notes == ("left out 2 files that are not UTF-8 text",)


def test_a_named_file_must_be_text(folder: Path):
    with pytest.raises(TokverifyError, match="not UTF-8"), open_corpus([folder / "latin1.cpp"]):
        pass


def test_a_directory_without_text_is_an_error(tmp_path: Path):
    with pytest.raises(TokverifyError, match="no text files to train on"), open_corpus([tmp_path]):
        pass


@pytest.mark.parametrize("data", [b"plain text", gzip.compress(b"text" * 100, mtime=0)[:-9]])
def test_a_damaged_compressed_file_is_an_error(tmp_path: Path, data: bytes):
    (tmp_path / "a.gz").write_bytes(data)
    with (
        pytest.raises(TokverifyError, match=r"a\.gz: not a gzip file, or damaged"),
        open_corpus([tmp_path / "a.gz"]),
    ):
        pass


def test_stdin_is_read_once_and_kept(monkeypatch: pytest.MonkeyPatch, folder: Path):
    monkeypatch.setattr(corpus_source.sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"from stdin\n")))
    with open_corpus([folder / "b.cpp", STDIN]) as opened:
        assert ["".join(read_blocks(opened.files)) for _ in "12"] == ["b\nfrom stdin\n"] * 2
    assert not opened.files[1].exists()


def test_stdin_cannot_be_named_twice(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(corpus_source.sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"a")))
    with pytest.raises(TokverifyError, match="only once"), open_corpus([STDIN, STDIN]):
        pass


def test_files_are_prepared_in_their_order(folder: Path):
    (folder / "b.cpp").write_text("// Copyright\n\n  b;\n")
    with open_corpus([folder], [Preparation.INDENTATION, Preparation.LICENSES]) as opened:
        assert "".join(read_blocks(opened.files)) == "b;\na\n"
    assert (folder / "b.cpp").read_text().startswith("// Copyright")
