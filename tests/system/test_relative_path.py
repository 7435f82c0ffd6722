"""Paths as seen from a directory, for people and for files that name other files."""

import ntpath
import os
from pathlib import Path

from tokverify.system.input_file import relative_path


def test_a_path_is_relative_to_the_current_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert relative_path(tmp_path.parent / "model.gguf") == str(Path("..", "model.gguf"))


def test_a_path_is_relative_to_a_directory(tmp_path):
    assert relative_path(tmp_path / "models" / "model.gguf", tmp_path) == str(Path("models", "model.gguf"))


def test_a_path_on_another_drive_stays_absolute(monkeypatch):
    monkeypatch.setattr(os.path, "relpath", ntpath.relpath)
    assert relative_path(r"D:\models\model.gguf", r"C:\work") == r"D:\models\model.gguf"
    assert relative_path(r"C:\models\model.gguf", r"C:\work") == r"..\models\model.gguf"
