"""Repositories to compare versions in."""

import shutil

import pytest

from support.repository import make_versions


@pytest.fixture
def own_git(monkeypatch):
    """Make git ignore the settings of the user who runs the tests, and give it a name to commit with."""
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, "/dev/null")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "a")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "a@b")


@pytest.fixture
def versions(own_git, tmp_path):
    """Make a bare repository: two versions of two models, and a reference."""
    origin = tmp_path / "origin.git"
    make_versions(tmp_path / "made", origin)
    return origin


@pytest.fixture
def lfs_versions(own_git, tmp_path):
    """Make the same with the models in Git LFS."""
    if not shutil.which("git-lfs"):
        pytest.skip("git-lfs is not installed")
    origin = tmp_path / "origin.git"
    make_versions(tmp_path / "made", origin, "*.gguf filter=lfs diff=lfs merge=lfs -text\n")
    return origin
