"""The reference `llama.cpp@/path/to/llama-tokenize`."""

import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.paths import ROOT, SAMPLE
from tokverify.case import Case
from tokverify.commands.cli import main
from tokverify.commands.tasks.run import verify_model
from tokverify.errors import EncodeError, TokverifyError, UnsupportedError
from tokverify.references import open_location
from tokverify.sources.gguf.declaration import read_spec
from tokverify.sources.gguf.writer import write_gguf
from tokverify.sources.load import load_gguf
from tokverify.sources.stores.location import locate

pytestmark = pytest.mark.process
SCRIPT = ROOT / "tests" / "support" / "llama_tokenize.py"
CASES = [
    Case(id="plain", suite="made", text="Hello  world\n", add_special=False),
    Case(id="escape", suite="made", text=r"not a line break: \n"),
    Case(id="around", suite="made", text="a\t\tb", add_special=True),
    Case(id="marker", suite="made", text="<start_of_turn>user", parse_special=True),
    Case(id="no-marker", suite="made", text="<start_of_turn>user", parse_special=False),
]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "llama-tokenize"
    path.write_text(
        f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(ROOT))} exec {shlex.quote(sys.executable)} {SCRIPT} "$@"\n'
    )
    path.chmod(0o755)
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A file that adds BOS, as llama-tokenize adds nothing around the texts of others."""
    path = tmp_path / "model.gguf"
    spec = read_spec(SAMPLE / "sample.gguf")
    write_gguf(path, replace(spec, add_bos=True))
    return path


def open_program(program: Path, model: Path):
    encoder = load_gguf(model)
    location = locate(f"llama.cpp@{program}")
    return open_location(location, spec=encoder.spec, settings=encoder.settings, model=model)


def test_ids_are_those_that_the_program_prints(program: Path, model: Path):
    report = verify_model(model, f"llama.cpp@{program}", CASES)
    assert [result.status for result in report.results] == ["match"] * len(CASES)
    assert [(result.add_special, result.parse_special) for result in report.results] == [
        (case.add_special, case.parse_special) for case in CASES
    ]
    assert report.versions["llama-tokenize"] == "b9014"
    assert "reads the same file" in report.expected.caveat


def test_a_model_without_bos_is_compared_without_what_is_around_a_text(program: Path, model: Path):
    write_gguf(model, replace(read_spec(model), add_bos=False))
    report = verify_model(model, f"llama.cpp@{program}", CASES)
    assert [result.add_special for result in report.results] == [False] * len(CASES)
    assert report.exit_code == 0


def test_a_text_on_which_the_program_fails_is_an_error_of_this_text(program: Path, model: Path):
    found = open_program(program, model)
    failed, other = found.tokenizer.encode_many(["crash", "a"], add_special=False, parse_special=True)
    assert isinstance(failed, EncodeError)
    assert "std::out_of_range" in str(failed)
    assert other == load_gguf(model).encode("a")
    with pytest.raises(UnsupportedError, match="llama-tokenize does not decode"):
        found.tokenizer.decode([1])


def test_what_changed_since_its_build_is_said(program: Path, model: Path):
    assert open_program(program, model).build == 9014


def test_another_file_can_be_named(program: Path, model: Path):
    reference = f"llama.cpp@{program}:{SAMPLE / 'sample-broken.gguf'}"
    # The diagnosis would start the program a thousand times, and the whole suite a hundred times.
    arguments = ["run", str(model), "-r", reference, "-k", "tabs/before-word-3", "--no-diagnose"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1, result.output
    assert "sample-broken.gguf" in result.output


def test_a_tokenizer_of_another_format_is_converted_before(program: Path):
    model = SAMPLE / "sample.tokenizer.json"
    report = verify_model(model, f"llama.cpp@{program}", CASES[:2])
    assert [result.status for result in report.results] == ["match", "match"]
    assert report.expected.source == f"{program}, {model}, converted to GGUF"


@pytest.mark.parametrize("name", ["libllama.so.1", "llama-tokenize"])
def test_a_library_and_what_cannot_be_executed_are_no_program(tmp_path: Path, model: Path, name: str):
    path = tmp_path / name
    path.write_text("")
    path.chmod(0o755 if ".so" in name else 0o644)
    assert os.access(path, os.X_OK) is (".so" in name)
    with pytest.raises(TokverifyError, match=name):
        open_program(path, model)
