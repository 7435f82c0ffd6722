"""Test that in a job of GitHub Actions, no token, text or file name is executed as a workflow command."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.hostile_piece import COMMANDS, fill
from support.selection import thinned
from tokverify import render
from tokverify.commands.cli import main
from tokverify.system.ci import escape_commands

# Wherever this is folded, a line soon begins with a command, since no usual width is a multiple of 11.
PIECE = "::add-mask:" * 60 + "##[error]x"
SHOWN = [command for command in COMMANDS if "-f github" not in command]
JSON = [
    "run model.gguf -r tokenizer.json --cases suite.yaml -f json",
    "run model.gguf -r tokenizer.json --cases suite.yaml -f sarif",
    "inspect model.gguf --json",
    "cases list suite.yaml --json",
]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("commands")
    fill(path, PIECE)
    return path


@pytest.fixture
def directory(filled: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(filled)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return filled


def output_of(command: str) -> str:
    return CliRunner().invoke(main, [word.replace("TEXT", f"a{PIECE}b") for word in command.split()]).output


def commands_in(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.lstrip().startswith("::") or "##[" in line]


@pytest.mark.parametrize("command", thinned(4, SHOWN))
def test_output_contains_no_workflow_commands(directory: Path, command: str):
    output = output_of(command)
    assert "add-mask" in output or "[error]x" in output
    assert commands_in(output) == []


def test_output_is_unchanged_outside_github_actions(directory: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("GITHUB_ACTIONS")
    assert commands_in(output_of("encode good.gguf TEXT"))
    assert commands_in(output_of("run model.gguf -r tokenizer.json --cases suite.yaml"))


@pytest.mark.parametrize("command", thinned(2, JSON))
def test_escaped_json_has_the_same_value(directory: Path, monkeypatch: pytest.MonkeyPatch, command: str):
    output = output_of(command)
    assert commands_in(output) == []
    monkeypatch.delenv("GITHUB_ACTIONS")
    plain = output_of(command)
    assert plain != output
    assert json.loads(plain) == json.loads(output)


@pytest.mark.parametrize("option", [f"--suite={PIECE}", f"-k{PIECE}", f"--report={PIECE}", f"-f{PIECE}", f"\n{PIECE}"])
def test_error_messages_contain_no_workflow_commands(directory: Path, option: str):
    result = CliRunner().invoke(main, ["run", "model.gguf", "--cases", "suite.yaml", option])
    assert result.exit_code == 2
    assert commands_in(result.output) == []


def test_html_pages_contain_no_workflow_commands():
    # A browser rejects styles and scripts whose digests are not in the page's policy.
    parts = [path for path in Path(render.__file__).parent.rglob("*.*") if path.suffix in {".css", ".js", ".jinja"}]
    assert len(parts) > 5
    assert [path.name for path in parts if escape_commands(path.read_text()) != path.read_text()] == []


def test_annotations_remain_commands(directory: Path):
    command = "run model.gguf -r tokenizer.json --cases suite.yaml -f github"
    lines = commands_in(output_of(command))
    assert lines
    assert all(
        line.startswith(("::error file=suite.yaml,", "::error file=model.gguf,", "::notice file=", "::warning file="))
        for line in lines
    )


def test_files_receive_the_text_unchanged(directory: Path, tmp_path: Path):
    arguments = ["run", "model.gguf", "-r", "tokenizer.json", "--cases", "suite.yaml"]
    CliRunner().invoke(main, [*arguments, "-o", str(tmp_path / "written.txt")])
    with (tmp_path / "redirected.txt").open("wb") as file:
        command = [sys.executable, "-m", "tokverify", *arguments]
        subprocess.run(command, stdout=file, check=False, env={**os.environ, "GITHUB_ACTIONS": "true"})
    assert commands_in((tmp_path / "written.txt").read_text())
    assert (tmp_path / "redirected.txt").read_text() == (tmp_path / "written.txt").read_text()
