"""`--llama-cpp BUILD` and the key `llama_cpp` of the configuration."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from support.spec_maker import unigram_spec
from tokverify.commands.cli import main
from tokverify.engine.build import VARIABLE, newest_build
from tokverify.sources.gguf.writer import write_gguf

TEXT = "e\u0301"


@pytest.fixture(autouse=True)
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a model whose normalization to NFC only newer builds know."""
    write_gguf(tmp_path / "model.gguf", unigram_spec({"e": -1.0, "\u0301": -1.0, "é": -1.0}, nfc=True))
    case = {"id": "one", "text": TEXT, "expect": {"model": ["é"]}}
    (tmp_path / "suite.yaml").write_text(json.dumps({"cases": [case]}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ([], "1"),
        (["--llama-cpp", "b9190"], "2"),
        (["--llama-cpp", "9190"], "2"),
        (["--llama-cpp", "ollama-0.30.0"], "2"),
    ],
)
def test_a_text_is_encoded_as_the_build_does(options: list[str], count: str):
    assert run("encode", "model.gguf", TEXT, "--count", *options).stdout == f"{count}\n"
    assert VARIABLE not in os.environ


def test_the_variable_selects_the_build_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(VARIABLE, "b9190")
    assert run("encode", "model.gguf", TEXT, "--count").stdout == "2\n"
    assert run("encode", "model.gguf", TEXT, "--count", "--llama-cpp", f"b{newest_build()}").stdout == "1\n"
    assert os.environ[VARIABLE] == "b9190"


@pytest.mark.parametrize(("options", "code", "build"), [([], 0, newest_build()), (["--llama-cpp", "b9190"], 1, 9190)])
def test_a_run_fails_only_with_the_build_that_differs_and_names_it(options: list[str], code: int, build: int):
    result = run("run", "model.gguf", "-r", "expect", "--cases", "suite.yaml", "-f", "json", *options)
    assert (result.exit_code, json.loads(result.stdout)["versions"]["llama.cpp"]) == (code, f"b{build}")


def test_the_configuration_names_a_build_that_an_option_overrides(tmp_path: Path):
    (tmp_path / "tokverify.toml").write_text(
        'llama_cpp = "b9190"\n[[models]]\nmodel = "model.gguf"\nreference = "expect"\ncases = ["suite.yaml"]\n'
    )
    assert run("run").exit_code == 1
    assert "encoded as llama.cpp b9190 does" in run("run").stdout
    assert run("run", "--llama-cpp", f"b{newest_build()}").exit_code == 0
    (tmp_path / "tokverify.toml").write_text('llama_cpp = "new"\n[[models]]\nmodel = "model.gguf"\n')
    result = run("run")
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert "llama_cpp is invalid: 'new' is not a build of llama.cpp; write one like b9190" in result.stderr


@pytest.mark.parametrize(
    ("build", "message"), [("x", "'x' is not a build of llama.cpp"), ("b12", "llama.cpp b12 is not between")]
)
def test_an_unknown_build_is_one_clear_line(build: str, message: str):
    result = run("encode", "model.gguf", "a", "--llama-cpp", build)
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert message in result.stderr


@pytest.mark.parametrize("form", [["--streaming", "--cases", "suite.yaml"], ["--no-reference"]])
def test_the_other_forms_of_run_encode_as_the_build_does_too(form: list[str]):
    document = json.loads(run("run", "model.gguf", *form, "--llama-cpp", "b9190", "-f", "json").stdout)
    assert document["versions"]["llama.cpp"] == "b9190"
