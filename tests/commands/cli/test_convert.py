"""Test `tokverify convert`: exit codes, the report in both formats, and errors."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.paths import SAMPLE
from tokverify.commands.cli import main
from tokverify.sources.gguf.declaration import read_spec

MODEL, GGUF = SAMPLE / "sample.tokenizer.model", SAMPLE / "sample.gguf"
SUITE = 'suite: s\ncases:\n  - {id: same, text: "a  b"}\n'
DIFFERING = 'suite: s\ncases:\n  - {id: other, text: " ▁"}\n'


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "suite.yaml").write_text(SUITE)
    (tmp_path / "differing.yaml").write_text(DIFFERING)
    (tmp_path / "there.gguf").write_bytes(b"old")
    (tmp_path / "folder.gguf").mkdir()
    shutil.copy(GGUF, tmp_path / "copy.gguf")
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: object, suite: str = "suite.yaml"):
        return CliRunner().invoke(main, ["convert", *map(str, arguments), "--cases", suite, "--texts", "0"])

    return invoke


def test_a_target_that_agrees_is_written(run):
    result = run(MODEL, "-o", "out.gguf")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"from       {MODEL} (sentencepiece)\nto         out.gguf (GGUF)\n")
    assert " ".join(result.stdout.split()).endswith(
        f"out.gguf: written; it gives the same ids as {MODEL} for all 1 case and 0 generated texts; 1 warning"
    )
    assert Path("out.gguf").stat().st_size > 1000


def test_a_target_with_explained_differences_is_written_with_a_warning(run):
    result = run(MODEL, "-o", "out.gguf", suite="differing.yaml")
    assert (result.exit_code, Path("out.gguf").exists()) == (0, True)
    words = " ".join(result.stdout.split())
    assert "out.gguf: written, but 1 of 1 case differs, only because of limits of llama.cpp" in words
    assert "cases s/other" in words


def test_strict_refuses_explained_differences(run):
    result = run(MODEL, "-o", "out.gguf", "--strict", "-q", suite="differing.yaml")
    assert (result.exit_code, Path("out.gguf").exists()) == (1, False)
    assert " ".join(result.stdout.split()).endswith("limits of llama.cpp; without --strict it is written; 1 warning")
    both = run(MODEL, "-o", "out.gguf", "--strict", "--unexplained")
    assert (both.exit_code, Path("out.gguf").exists()) == (2, False)


def test_options_declare_special_tokens(run):
    options = ("--bos-token", "<eos>", "--eos-token", "0", "--no-add-bos", "--add-eos")
    result = run(MODEL, "-o", "out.gguf", *options)
    spec = read_spec(Path("out.gguf"))
    assert (result.exit_code, spec.tokens[spec.special_ids["bos"]], spec.special_ids["eos"]) == (0, "<eos>", 0)
    assert (spec.add_bos, spec.add_eos) == (False, True)
    assert "WARNING" not in result.stdout
    unknown = run(MODEL, "-o", "other.gguf", "--eos-token", "<oes>")
    assert unknown.exit_code == 2
    assert "--eos-token <oes>: there is no such token among 2,000; did you mean <eos>" in " ".join(
        unknown.stderr.split()
    )


def test_json_contains_the_same_result(run):
    result = run(MODEL, "-o", "out.gguf", "-f", "json", suite="differing.yaml")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["kind"]) == (0, "convert")
    assert (document["source"], document["target"]) == (str(MODEL), "out.gguf")
    assert document["kinds"] == ["sentencepiece", "gguf"]
    assert (document["written"], document["differing"], document["unexplained"]) == (True, 1, 0)
    assert [limit["cases"] for limit in document["report"]["limits"]] == [1]
    assert document["pre_tokenizer"] is None
    assert [result["status"] for result in document["report"]["results"]] == ["mismatch"]


def test_a_tokenizer_json_and_its_config(run):
    result = run(GGUF, "-o", "tokenizer.json", "--with-config")
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(Path("tokenizer_config.json").read_text())["add_bos_token"] is True
    shown = run("tokenizer.json", "-o", "back.gguf", "-v").stdout
    assert "from       tokenizer.json (HuggingFace tokenizer.json)" in shown


def test_the_match_of_the_pre_tokenizer_is_shown(run):
    alphabet = {chr(code): index for index, code in enumerate([*range(33, 127), *range(161, 173), *range(174, 324)])}
    stage = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    model = {"type": "BPE", "vocab": {**alphabet, "ab": 256}, "merges": [["a", "b"]]}
    Path("in.json").write_text(json.dumps({"model": model, "pre_tokenizer": stage}))
    result = run("in.json", "-o", "out.gguf", "-v")
    words = " ".join(result.stdout.split())
    assert result.exit_code == 0, result.output
    assert "pre-tokenizer gpt-2 it splits 22 probes like the source" in words
    assert "18 other names would give the same ids: phi-2, " in words
    assert "probes Hello·world!" in words


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["absent.json", "-o", "x.gguf"], "absent.json: no such file"),
        ([MODEL, "-o", "x.bin"], "x.bin: the suffix selects the output format, and .bin is not supported"),
        ([MODEL, "-o", "x"], "x: the suffix selects the output format, and it is missing"),
        ([MODEL, "-o", "there.gguf"], "there.gguf: already exists; name another file or overwrite it with --force"),
        (["copy.gguf", "-o", "./copy.gguf", "--force"], "copy.gguf: is IN itself, which is never changed"),
        ([GGUF, "-o", "x.gguf"], f"{GGUF}: is already a GGUF file"),
        ([MODEL, "-o", "folder.gguf", "--force"], "folder.gguf: not a regular file"),
        ([MODEL, "-o", "nowhere/x.gguf"], "nowhere/x.gguf: cannot be written: nowhere is not a directory"),
        (["suite.yaml", "-o", "x.gguf"], "suite.yaml: not a GGUF file"),
        (["/dev/null", "-o", "x.gguf"], "/dev/null: not a regular file"),
        ([GGUF, "-o", "x.json", "--with-config"], "x.json: a tokenizer_config.json is found only beside"),
        ([MODEL, "-o", "x.gguf", "--with-config"], "x.gguf: a tokenizer_config.json is found only beside"),
    ],
)
def test_an_impossible_conversion_gives_one_line_and_exit_code_2(run, arguments, problem):
    before = sorted(Path().iterdir())
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {problem}")
    assert result.stderr.count("\n") == 1
    assert (sorted(Path().iterdir()), Path("there.gguf").read_bytes()) == (before, b"old")


def tokverify(*arguments: object, **options: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tokverify", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


@pytest.mark.skipif(os.name != "posix", reason="limits the size of files")
def test_a_full_disk_leaves_nothing(tmp_path):
    import resource

    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # noqa: E731 - run in the child
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # A cut .pyc file would break every later program.
    process = tokverify("convert", MODEL, "-o", tmp_path / "x.gguf", preexec_fn=limit, env=environment)
    stdout, stderr = process.communicate()
    assert (process.returncode, stdout) == (2, "")
    assert stderr.startswith(f"error: {tmp_path / 'x.gguf'}: cannot be written: ")
    assert stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_ctrl_c_leaves_nothing(tmp_path):
    process = tokverify(
        *("convert", MODEL, "-o", tmp_path / "x.gguf", "--texts", 10_000_000),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while process.poll() is None and not list(tmp_path.iterdir()):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate()
    assert (process.returncode, stdout, stderr) == (130, "", "interrupted\n")
    assert list(tmp_path.iterdir()) == []
