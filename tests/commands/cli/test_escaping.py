"""Test that every command escapes a hostile token exactly once."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.hostile_piece import COMMANDS, fill
from support.markdown_reading import shown
from support.selection import thinned
from tokverify.commands.cli import main

PIECE = "<|a\\b\n\x1bc|>"

ONCE = re.compile(r"<\|a\\\\b(↵|\\n)\\x1bc\|>")
WRONG = {
    "raw": re.compile(r"[\x1b]"),
    "a backslash that is not escaped": re.compile(r"a\\b"),
    "a backslash that is escaped twice": re.compile(r"\\\\\\"),
    "an escape that is escaped": re.compile(r"\\\\(?:x1b|n|u)|\\u(?:21b5|00b7)"),
}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile")
    fill(path, PIECE)
    return path


@pytest.mark.parametrize("command", thinned(4, COMMANDS))
def test_a_token_is_shown_escaped_once(directory: Path, monkeypatch: pytest.MonkeyPatch, command: str):
    monkeypatch.chdir(directory)
    monkeypatch.setenv("COLUMNS", "1000")
    arguments = [word.replace("TEXT", f"a{PIECE}b") for word in command.split()]
    output = CliRunner().invoke(main, arguments).output
    if command.endswith("-f markdown"):
        output = shown(output)
    assert ONCE.search(output), output
    for what, pattern in WRONG.items():
        assert not pattern.search(output), (what, output)


def test_train_shows_a_name_escaped_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("corpus.txt").write_text("some words and some other words\n" * 100)
    output = CliRunner().invoke(main, ["train", "bpe", "corpus.txt", "-o", PIECE, "--vocab-size", "300"]).output
    assert "written   <|a\\b↵\\x1bc|>: " in output
    assert not WRONG["raw"].search(output)
    assert not WRONG["an escape that is escaped"].search(output)
