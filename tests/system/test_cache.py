"""The files of the cache, whose loss or damage must never make a command fail."""

import pytest

from tokverify.system.cache import VARIABLE, CacheFile, cache_directory


def test_content_is_read_as_it_was_written(tmp_path):
    file = CacheFile(tmp_path / "new" / "key.json")
    assert file.read(1) == {}
    assert file.write(1, {"names": ["é"]})
    assert file.read(1)["names"] == ["é"]
    assert file.read(2) == {}


def test_empty_content_leaves_no_file(tmp_path):
    file = CacheFile(tmp_path / "key.json")
    file.write(1, {"names": []})
    assert file.write(1, {})
    assert not file.path.exists()


@pytest.mark.parametrize("content", ["", "[]", "{", "null", "1", "[" * 100_000, "\xff"])
def test_a_damaged_file_is_ignored(tmp_path, content):
    file = CacheFile(tmp_path / "key.json")
    file.path.write_text(content, encoding="latin-1")
    assert file.read(1) == {}


def test_a_place_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "file").write_text("")
    assert not CacheFile(tmp_path / "file" / "key.json").write(1, {"names": []})


def test_the_directory_is_that_of_the_platform_or_of_the_variable(monkeypatch, tmp_path):
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "tokverify"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_directory() == tmp_path / ".cache" / "tokverify"


def test_without_a_home_directory_nothing_is_kept(monkeypatch):
    def fail():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setattr("pathlib.Path.home", fail)
    file = CacheFile(cache_directory() / "key.json")
    assert not file.write(1, {"names": []})
    assert file.read(1) == {}
