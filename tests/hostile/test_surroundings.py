"""Files and directories without permissions, a read-only home directory, and a file system that is full."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from support.paths import SAMPLE

GGUF, MODEL, BROKEN = (SAMPLE / name for name in ("sample.gguf", "sample.tokenizer.model", "sample-broken.gguf"))
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0

pytestmark = pytest.mark.skipif(
    os.name != "posix" or (IS_ROOT and not shutil.which("setpriv")), reason="needs permissions that apply"
)

# Root may read everything, unless it gives up these capabilities.
RESTRICTED = ["setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner", "--"] if IS_ROOT else []
DRIVER = """
import json, sys
from click.testing import CliRunner
from tokverify.commands.cli import main

for command in json.loads(sys.argv[1]):
    result = CliRunner().invoke(main, command)
    print(json.dumps([result.exit_code, result.stderr]))
"""


def run(
    commands: Sequence[Sequence[object]], directory: Path, prefix: Sequence[str] = RESTRICTED, **variables: str
) -> list[tuple[int, str]]:
    """Run commands in one process; return the exit code and stderr of each."""
    texts = json.dumps([list(map(str, command)) for command in commands])
    result = subprocess.run(
        [*prefix, sys.executable, "-c", DRIVER, texts],
        cwd=directory,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return [tuple(json.loads(line)) for line in result.stdout.splitlines()]


def assert_refused(commands: Sequence[Sequence[object]], results: Sequence[tuple[int, str]], reason: str) -> None:
    """Check that each command has failed with one line that gives the reason; click shows the usage above it."""
    assert len(results) == len(commands)
    for command, (code, error) in zip(commands, results, strict=True):
        line = error.removeprefix(error[: error.rfind("\n\n") + 2] if error.startswith("Usage: ") else "")
        assert (code, line.count("\n")) == (2, 1), (command, code, error)
        assert re.search(f"^error: .*({reason})", line, re.IGNORECASE), (command, error)


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Path]:
    """Return a directory whose mode the test may change."""
    directory = tmp_path / "closed"
    directory.mkdir()
    yield directory
    directory.chmod(0o755)


def test_files_that_cannot_be_read(tmp_path: Path):
    names = (
        "model.gguf",
        "tokenizer.json",
        "tokenizer.model",
        "tekken.json",
        "x.tiktoken",
        "suite.yaml",
        "report.json",
    )
    for name in names:
        path = tmp_path / name
        path.write_text("x")
        path.chmod(0)
    commands = [
        *(("encode", tmp_path / name, "a") for name in ("model.gguf", "tokenizer.json", "tokenizer.model")),
        *(("inspect", tmp_path / name) for name in ("model.gguf", "tokenizer.json")),
        *(("run", GGUF, "-r", tmp_path / name) for name in ("tokenizer.json", "tokenizer.model", "tekken.json")),
        ("run", GGUF, "-r", f"{tmp_path / 'x.tiktoken'}:llama3"),
        ("run", GGUF, "-r", MODEL, "--cases", tmp_path / "suite.yaml"),
        ("run", GGUF, "-r", MODEL, "--baseline", tmp_path / "suite.yaml"),
        ("run", GGUF, "--no-reference", "--waivers", tmp_path / "suite.yaml"),
        ("fix", tmp_path / "model.gguf", "-r", MODEL, "-o", tmp_path / "fixed.gguf"),
        ("diff", GGUF, tmp_path / "model.gguf"),
        ("convert", tmp_path / "tokenizer.model", "-o", tmp_path / "new.gguf"),
        ("report", "show", tmp_path / "report.json"),
    ]
    assert_refused(commands, run(commands, tmp_path), "permission denied|is not readable")


def test_directories_that_cannot_be_entered(tmp_path: Path, closed: Path):
    for file in (GGUF, MODEL):
        shutil.copy(file, closed)
    suite = closed / "suite.yaml"
    suite.write_text("suite: s\ncases:\n  - {id: a, text: a}\n")
    closed.chmod(0)
    commands = [
        ("encode", closed / GGUF.name, "a"),
        ("run", closed / GGUF.name),
        ("run", GGUF, "-r", closed / MODEL.name),
        ("run", GGUF, "-r", MODEL, "--cases", suite),
        ("run", GGUF, "--no-reference", "--waivers", suite),
        ("convert", MODEL, "-o", closed / "new.gguf"),
        ("report", "show", closed / "report.json"),
    ]
    assert_refused(commands, run(commands, tmp_path), "permission denied")


def test_directories_that_cannot_be_written_to(tmp_path: Path, closed: Path):
    closed.chmod(0o555)
    commands = [
        ("convert", MODEL, "-o", closed / "new.gguf"),
        ("fix", BROKEN, "-r", MODEL, "-o", closed / "fixed.gguf"),
        ("run", GGUF, "--no-reference", "--report", f"json={closed / 'report.json'}"),
        ("run", BROKEN, "-r", MODEL, "--no-diagnose", "--report", f"html={closed / 'report.html'}"),
    ]
    assert_refused(commands, run(commands, tmp_path), "permission denied|no file can be created in")
    assert not list(closed.iterdir())


def test_a_configuration_that_cannot_be_read(tmp_path: Path):
    path = tmp_path / "tokverify.toml"
    path.write_text('[[models]]\nmodel = "model.gguf"\n')
    path.chmod(0)
    assert_refused([("run",)], run([("run",)], tmp_path), "permission denied")


@pytest.mark.slow
def test_a_home_directory_that_is_read_only_changes_no_result(tmp_path: Path, closed: Path):
    suite = tmp_path / "suite.yaml"
    suite.write_text("suite: s\ncases:\n  - {id: a, text: 'a\\tb'}\n")
    commands = [
        ("run", BROKEN, "-r", MODEL, "--cases", suite),
        ("check", BROKEN, "-r", MODEL),
        ("chat", GGUF, "-r", MODEL),
        ("inspect", GGUF),
    ]
    variables = {"HOME": str(closed), "XDG_CACHE_HOME": "", "TOKVERIFY_CACHE": ""}
    usual = run(commands, tmp_path, **variables, XDG_CONFIG_HOME="")
    shutil.rmtree(closed / ".cache", ignore_errors=True)
    closed.chmod(0o555)
    results = run(commands, tmp_path, **variables, XDG_CONFIG_HOME="")
    assert [code for code, _ in results] == [code for code, _ in usual]
    assert not any("Traceback" in error or "bug in tokverify" in error for _, error in results)
    assert not list(closed.iterdir())


@pytest.mark.skipif(not IS_ROOT or not shutil.which("unshare"), reason="only root can mount a file system")
def test_a_file_system_that_is_full(tmp_path: Path):
    full = tmp_path / "full"
    full.mkdir()
    commands = [
        ("convert", MODEL, "-o", full / "new.gguf"),
        ("fix", BROKEN, "-r", MODEL, "-o", full / "fixed.gguf"),
        ("run", BROKEN, "-r", MODEL, "--no-diagnose", "--report", f"html={full / 'report.html'}"),
        ("run", BROKEN, "-r", MODEL, "--no-diagnose", "--report", f"json={full / 'report.json'}"),
    ]
    mount = (
        f'mount -t tmpfs -o size=16k tmpfs "{full}" || exit 77; head -c 12288 /dev/zero > "{full}/taken"; '
        f'"$@"; test "$(ls -A "{full}")" = taken'
    )
    prefix = ["unshare", "--mount", "sh", "-c", mount, "sh"]
    if subprocess.run([*prefix, "true"], check=False).returncode:
        pytest.skip("file systems cannot be mounted here")
    assert_refused(commands, run(commands, tmp_path, prefix), "no space left on device|but the disk has")
