"""The benchmarks start from the root of the checkout."""

import importlib.metadata
import json
import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.paths import ROOT


@pytest.mark.parametrize(
    "name",
    [
        "chat_server",
        "corpus",
        "corpus_data",
        "distilled_faults",
        "encoders",
        "formats",
        "html_page",
        "kills",
        "kinds",
        "mutations",
        "new_faults",
        "planted",
    ],
)
def test_a_benchmark_prints_its_help(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    if name == "html_page":
        pytest.importorskip("playwright.sync_api", reason="needs the extra `browser`")
    path = ROOT / "benchmarks" / f"{name}.py"
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", [str(path), "--help"])
    monkeypatch.setattr(sys, "path", [str(path.parent), *sys.path])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(path), run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("usage: ")


def test_the_process_that_measures_an_encoder_can_be_started():
    command = [sys.executable, "-c", "import worker"]
    done = subprocess.run(command, cwd=ROOT / "benchmarks", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("peer", "package", "vocabulary"),
    [
        ("tokenizers", "tokenizers", "bert-bge"),
        ("sentencepiece", "sentencepiece", "t5"),
        ("tiktoken", "tiktoken", "qwen2"),
        ("riptoken", "riptoken", "gpt-2"),
        ("quicktok", "quicktok", "qwen2"),
        ("fastokens", "fastokens", "llama-spm"),
        ("gigatoken", "gigatoken", "mpt"),
        ("kitoken", "kitoken", "t5"),
        ("tokie", "tokie", "bert-bge"),
        ("nanotoken", "nanotoken", "bert-bge"),
        ("snaptokens", "snaptokens", "gemma-3"),
        ("tuetoken", "tuetoken", "llama-spm"),
        ("splintr", "splintr", "mpt"),
        ("morpheme", "morpheme", "gpt-2"),
    ],
)
def test_a_peer_has_the_ids_of_tokverify(tmp_path: Path, shared: Path, peer: str, package: str, vocabulary: str):
    pytest.importorskip(package)
    text = tmp_path / "text.txt"
    text.write_text("a short line\nand a line that is longer than the others, don't you think?\n12345 and 日本語\n" * 2)
    ids = []
    for name in ("tokverify", peer):
        command = [sys.executable, "worker.py", name, vocabulary, str(tmp_path), str(text), "10"]
        done = subprocess.run(command, cwd=ROOT / "benchmarks", capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        ids.append(json.loads(done.stdout)["ids"])
    assert ids[0] == ids[1]


@pytest.fixture
def bare_python(tmp_path: Path) -> Path:
    """Make an interpreter whose environment has no packages."""
    path = tmp_path / "python"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    path.chmod(0o755)
    return path


def test_the_environment_of_a_peer_needs_no_other_packages(bare_python: Path):
    command = [bare_python, "-c", "import worker"]
    done = subprocess.run(command, cwd=ROOT / "benchmarks", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def compare(tmp_path: Path, shared: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that compares speeds with GPT-2 and a short text."""
    (tmp_path / "vocabs").symlink_to(shared / "vocabs")
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "en.txt").write_text("a line\nanother line\n")

    def compare(*options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "benchmarks/encoders.py", "speed", "gpt-2", "--text", "en", *options]
        environment = os.environ | {"TOKVERIFY_SHARED": str(tmp_path)}
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    return compare


def test_a_peer_that_is_not_installed_for_its_interpreter_is_left_out(compare, bare_python: Path):
    done = compare("--peer", "fastokens", "--python", f"fastokens={bare_python}")
    assert done.stderr == f"fastokens is left out: fastokens is not installed for {bare_python}\n"
    assert done.stdout.splitlines()[0] == "| vocabulary | text | tokverify | best peer, cold / new |"


def test_a_peer_with_another_version_is_left_out(compare):
    assert importlib.metadata.version("tokenizers").startswith("0."), "pyproject.toml requires this"
    done = compare("--peer", "tokenizers-1")
    assert done.stderr == f"tokenizers-1 is left out: tokenizers 1.x is not installed for {sys.executable}\n"


def test_a_peer_that_cannot_load_a_vocabulary_is_reported_with_the_reason(compare):
    done = compare("--peer", "sentencepiece")
    assert done.stderr.startswith("sentencepiece cannot be measured with gpt-2: FileNotFoundError: ")
    assert done.stderr.count("\n") == 1


def test_versions_follow_the_table(compare):
    done = compare("--peer", "tokenizers")
    ours, theirs = (importlib.metadata.version(name) for name in ("tokverify", "tokenizers"))
    assert done.stdout.splitlines()[-1] == f"tokverify {ours}, tokenizers {theirs}"


@pytest.mark.parametrize("option", ["fastokens", "fastokens=missing", "=missing"])
def test_an_interpreter_that_does_not_exist_is_an_error(compare, option: str):
    done = compare("--python", option)
    assert done.returncode == 2
    assert f"not PEER=PATH with the path of a Python interpreter: '{option}'" in done.stderr


def test_an_interpreter_for_a_peer_that_is_not_compared_is_an_error(compare):
    done = compare("--peer", "fastokens", "--python", f"kitoken={sys.executable}")
    assert done.returncode == 2
    assert "--python for a peer that is not compared: kitoken" in done.stderr
