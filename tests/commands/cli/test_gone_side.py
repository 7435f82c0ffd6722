"""A side that stops answering ends every command with exit code 2 and one line; it is no difference of tokenizers."""

import json
import re
import shlex
import sys

import pytest
from click.testing import CliRunner, Result

from support.paths import ROOT, SAMPLE
from support.stand_in import StandIn
from tokverify import load_gguf
from tokverify.commands.cli import main

MODEL = str(SAMPLE / "sample.gguf")
PROGRAM = ROOT / "tests" / "support" / "mortal_program.py"
COMMANDS = {
    "run": (MODEL, "--no-diagnose"),
    "fuzz": (MODEL, "--texts", "3000"),
    "stream": (MODEL,),
    "diff": (MODEL,),
    "conformance": (MODEL, "--texts", "100"),
}


class _Silence(dict):
    """Answers to every path: the connection is closed."""

    def get(self, key, default=None):
        return None


class MortalStandIn(StandIn):
    """A llama-server that dies after so many requests."""

    def __init__(self, encoder, requests: int) -> None:
        super().__init__(encoder)
        self.left = requests

    def answer(self, path: str, body: bytes):
        self.left -= 1
        if self.left == 0:
            self.answers = _Silence()
        return super().answer(path, body)


@pytest.fixture(scope="module")
def encoder():
    return load_gguf(SAMPLE / "sample.gguf")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


@pytest.mark.parametrize("command", ["run", "fuzz", "stream", "diff", "conformance"])
@pytest.mark.parametrize("requests", [12, 60])
def test_a_server_that_dies_ends_every_command_with_its_address(encoder, command, requests):
    with MortalStandIn(encoder, requests) as server:
        arguments = [*COMMANDS[command], "-r", server.address]
        if command == "diff":
            arguments = [server.address, MODEL]
        result = run(command, *arguments)
    assert result.exit_code == 2, result.output
    output = " ".join((result.stderr + result.stdout).split())
    assert re.search(rf"{server.address}/\w+: no complete response", output)
    assert result.stderr.startswith(f"error: {server.address}/")
    assert result.stderr.count("\n") == 1
    assert "differences" not in result.stdout


def test_learn_names_the_server_that_died(encoder, tmp_path):
    target = tmp_path / "learned.gguf"
    with MortalStandIn(encoder, 200) as server:
        result = run("learn", "-r", server.address, "-o", str(target))
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert f"{server.address}/" in result.stderr
    assert "no complete response" in result.stderr
    assert not target.exists()


def test_what_was_compared_before_is_in_all_reports_of_a_run(encoder, tmp_path):
    document, junit = tmp_path / "run.json", tmp_path / "run.xml"
    with MortalStandIn(encoder, 300) as server:
        result = run("run", MODEL, "-r", server.address, "--report", f"json={document}", "--report", f"junit={junit}")
    report = json.loads(document.read_text())
    assert result.exit_code == report["summary"]["exit_code"] == 2
    assert 0 < report["summary"]["match"] == len(report["results"]) < 657
    assert report["summary"]["error"] == 0
    assert server.address in report["gone"]
    assert "incomplete: http://" in result.stdout
    assert "<error" in junit.read_text()


def test_what_fuzz_has_tried_before_is_in_its_report(encoder):
    with MortalStandIn(encoder, 3000) as server:
        result = run("fuzz", MODEL, "-r", server.address, "--texts", "9000", "-f", "json")
    report = json.loads(result.stdout)
    assert result.exit_code == report["summary"]["exit_code"] == 2
    assert (report["summary"]["stop"], report["summary"]["failing"]) == ("gone", 0)
    assert 0 < report["summary"]["strings"] < 9000


@pytest.mark.parametrize("command", ["run", "fuzz", "stream"])
def test_a_program_that_dies_ends_every_command_with_its_name(command, tmp_path):
    arguments = shlex.join([sys.executable, str(PROGRAM), str(SAMPLE / "sample.gguf"), str(tmp_path / "alive"), "6"])
    result = run(command, *COMMANDS[command], "-r", f"command:{arguments}")
    assert result.exit_code == 2, result.output
    assert "mortal_program.py" in result.output
    assert "the end" in result.output
