"""Paths in the formats for CI systems: as git writes them, with links, and for names that are not paths."""

from pathlib import Path

import pytest

from tokverify.render.issue import path_from


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a directory, by its real path, that contains a link to another; next to it is a link to itself."""
    root = tmp_path.resolve() / "repository"
    (root / "real" / "below").mkdir(parents=True)
    (root / "link").symlink_to("real/below")
    (root / "file").symlink_to("real/other")
    (tmp_path / "alias").symlink_to(root)
    monkeypatch.chdir(root)
    return str(root)


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("link/a.yaml", "real/below/a.yaml"),
        ("link/../a.yaml", "real/a.yaml"),
        ("{root}/../alias/real/a.yaml", "real/a.yaml"),
        ("file", "file"),
        ("real/missing/../a.yaml", "real/a.yaml"),
        ("../a.yaml", "../a.yaml"),
        ("https://example.org//a", "https://example.org//a"),
        ("C:\\a.yaml", "C:\\a.yaml"),
        ("a\0b", "a\\x00b"),
        ("\ud800", "\\ud800"),
        ("\udc80", "\udc80"),
    ],
)
def test_paths_are_those_that_git_knows(root: str, path: str, written: str):
    assert path_from(root, path.format(root=root)) == written
