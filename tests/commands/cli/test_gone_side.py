"""A side that stops answering ends every command with exit code 2 and one line; it is no difference of tokenizers."""

import json
import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from support.paths import ROOT, SAMPLE
from support.selection import thinned
from support.stand_in import StandIn
from tokverify import load_gguf
from tokverify.commands.cli import main
from tokverify.sources.gguf.writer import write_gguf
from tokverify.system import http_client

MODEL = str(SAMPLE / "sample.gguf")
PROGRAM = ROOT / "tests" / "support" / "mortal_program.py"
COMMANDS = {
    "run": (MODEL, "-r", "ADDRESS", "--cases", "SUITE"),
    "fuzz": (MODEL, "-r", "ADDRESS", "--texts", "64", "--no-replay"),
    "run --streaming": (MODEL, "-r", "ADDRESS", "--cases", "SUITE"),
    "diff": ("ADDRESS", MODEL, "--cases", "SUITE"),
    "run --judge model": (MODEL, "-r", "ADDRESS", "--texts", "20"),
    "run --select TV": (MODEL, "-r", "ADDRESS"),
    "explain": (MODEL, "Hello", "-r", "ADDRESS"),
    "fix": (MODEL, "-r", "ADDRESS", "--cases", "SUITE"),
    "chat": ("WITH_TEMPLATE", "-r", "ADDRESS"),
    "corpus verify": (MODEL, "SUITE", "-r", "ADDRESS"),
}
"""Arguments, by command and the option that chooses its form."""


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


def arguments_of(command: str, address: str, suite: Path) -> list[str]:
    words = (*command.split(), *COMMANDS[command])
    places = {"ADDRESS": address, "SUITE": str(suite), "WITH_TEMPLATE": str(suite.with_name("chat.gguf"))}
    return [places.get(word, word) for word in words]


@pytest.mark.parametrize("command", thinned(8, COMMANDS))
def test_a_server_that_dies_at_any_moment_ends_every_command_with_its_address(encoder, command, tmp_path, monkeypatch):
    monkeypatch.setattr(http_client.time, "sleep", lambda _: None)
    suite = tmp_path / "suite.yaml"
    suite.write_text(json.dumps({"cases": [{"id": "a", "text": "Hello  world"}, {"id": "b", "text": "a\t\tb   c"}]}))
    template = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
    write_gguf(suite.with_name("chat.gguf"), replace(encoder.spec, chat_template=template))
    with MortalStandIn(encoder, 10**6) as server:
        result = run(*arguments_of(command, server.address, suite))
        asked = 10**6 - server.left
    assert result.exit_code in {0, 1}, result.output
    moments = range(1, asked)
    for requests in moments[:: max(len(moments) // 2, 1)]:
        with MortalStandIn(encoder, requests) as server:
            result = run(*arguments_of(command, server.address, suite))
        assert result.exit_code == 2, (requests, asked, result.output)
        assert re.search(rf"^error: .*{server.address}/\S+: no complete response", result.stderr), result.stderr
        assert result.stderr.count("\n") == 1


@pytest.mark.slow
def test_learn_names_the_server_that_died(encoder, tmp_path):
    target = tmp_path / "learned.gguf"
    with MortalStandIn(encoder, 200) as server:
        result = run("convert", "-r", server.address, "-o", str(target))
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert f"{server.address}/" in result.stderr
    assert "no complete response" in result.stderr
    assert not target.exists()


def test_check_says_that_a_model_could_not_be_checked(encoder):
    with MortalStandIn(encoder, 300) as server:
        result = run("check", MODEL, "-r", server.address)
    assert result.exit_code == 2
    assert re.search(r"sample +run +could not be checked", result.stdout)
    assert server.address in result.stdout


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


@pytest.mark.slow
def test_what_fuzz_has_tried_before_is_in_its_report(encoder):
    with MortalStandIn(encoder, 3000) as server:
        result = run("fuzz", MODEL, "-r", server.address, "--texts", "9000", "-f", "json")
    report = json.loads(result.stdout)
    assert result.exit_code == report["summary"]["exit_code"] == 2
    assert (report["summary"]["stop"], report["summary"]["failing"]) == ("gone", 0)
    assert 0 < report["summary"]["strings"] < 9000


@pytest.mark.parametrize("command", ["run", "fuzz", "run --streaming"])
def test_a_program_that_dies_ends_every_command_with_its_name(command, tmp_path):
    suite = tmp_path / "suite.yaml"
    suite.write_text(json.dumps({"cases": [{"id": str(at), "text": "a" * at} for at in range(300)]}))
    arguments = shlex.join([sys.executable, str(PROGRAM), str(SAMPLE / "sample.gguf"), str(tmp_path / "alive"), "6"])
    result = run(*arguments_of(command, f"command:{arguments}", suite))
    assert result.exit_code == 2, result.output
    assert "mortal_program.py" in result.output
    assert "the end" in result.output
