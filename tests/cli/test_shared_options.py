"""The options of reports do the same in every command that writes one, found by inspecting the program."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from support.paths import DATA, SAMPLE
from support.program import list_commands
from tokverify.cli import main

MODEL = str(SAMPLE / "sample.gguf")
BROKEN = str(SAMPLE / "sample-broken.gguf")
REFERENCE = str(SAMPLE / "sample.tokenizer.model")
pytestmark = pytest.mark.process  # takes seconds

FEW = ["-k", "tabs/before-word-3", "-k", "seed/extra-spaces"]

COMMANDS: dict[str, list[str]] = {
    "run": [BROKEN, "-r", REFERENCE, *FEW],
    "check": [BROKEN, "-r", REFERENCE, "--only", "audit"],
    "fuzz": [BROKEN, "-r", REFERENCE, "--texts", "200", "--no-replay", "--no-diagnose"],
    "corpus verify": [BROKEN, str(DATA / "sample_text.txt"), "-r", MODEL, "-j", "1"],
    "diff": [MODEL, BROKEN, *FEW],
    "audit": [BROKEN, "-r", REFERENCE],
    "stats": [MODEL],
    "stream": [MODEL, *FEW],
    "conformance": [MODEL, "--engine", REFERENCE, "--texts", "9"],
    "report show": ["{saved}"],
    "report diff": ["{saved}", "{saved}"],
}
"""Command -> arguments with which it writes a report."""

ELSEWHERE = {
    "canonical": "needs a log; tests/render/canonical",
    "chat": "needs a chat template; tests/cli/test_chat.py",
    "corpus merge": "writes the report of `corpus verify`",
    "corpus retry": "writes the report of `corpus verify`",
    "versions": "needs environments; tests/tasks/test_versions.py",
}
"""Command -> why it is not run here, and where it is."""


def run(name: str, saved: Path, *options: str) -> Result:
    arguments = [argument.format(saved=saved) for argument in COMMANDS[name]]
    return CliRunner().invoke(main, [*name.split(), *arguments, *options])


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "report.json"
    assert run("run", path, "-o", str(path)).exit_code == 1
    return path


def test_every_command_that_writes_reports_is_in_a_table():
    writing = {name for name, command in list_commands() if any(each.name == "reports" for each in command.params)}
    assert writing == COMMANDS.keys() | ELSEWHERE.keys()


@pytest.mark.parametrize("name", COMMANDS)
def test_options_of_reports_have_the_same_effect(tmp_path: Path, saved: Path, name: str):
    full = run(name, saved)
    assert full.exit_code in {0, 1}, full.output
    quiet, verbose = run(name, saved, "-q"), run(name, saved, "-v")
    assert {quiet.exit_code, verbose.exit_code} == {full.exit_code}
    verdict = quiet.stdout
    assert verdict.strip()
    assert full.stdout.endswith(f"\n{verdict}")
    assert verbose.stdout.endswith(f"\n{verdict}")

    path, other = tmp_path / "x.json", tmp_path / "x.md"
    written = run(name, saved, "-o", str(path), "--report", f"markdown={other}")
    assert (written.exit_code, written.stdout) == (full.exit_code, "")
    assert " ".join(verdict.split()) in " ".join(written.stderr.split())
    assert f"the reports are in {path}, {other}" in written.stderr
    shown = run(name, saved, "-f", "json")
    assert json.loads(shown.stdout).keys() == json.loads(path.read_text()).keys()
    assert other.read_text().startswith("## ")
    assert run(name, saved, "-f", "json", "-q").stdout.startswith("{")
