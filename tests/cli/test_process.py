"""What only shows in a process of its own: imports, pipes, encodings."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLE = Path(__file__).parents[2] / "tokverify" / "sample"
SLOW = {"gguf", "huggingface_hub", "numpy", "regex", "rich", "sentencepiece", "tokenizers", "yaml"}


def tokverify(*arguments: str, **options) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "tokverify", *arguments]
    return subprocess.run(command, capture_output=True, check=False, **options)


def test_runs_as_a_module():
    result = tokverify("--version")
    assert result.returncode == 0
    assert result.stdout.startswith(b"tokverify")


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["fuzz", "--help"], ["--version"]])
def test_help_imports_nothing_slow(arguments):
    code = (
        "import sys\nfrom tokverify.cli import main\n"
        f"try: main({arguments!r})\nexcept SystemExit: print(*sorted(sys.modules), file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    modules = {name.partition(".")[0] for name in result.stderr.decode().split()}
    assert "click" in modules
    assert not modules & SLOW


def test_importing_the_package_imports_nothing_slow():
    code = "import sys, tokverify; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert not {name.partition(".")[0] for name in result.stdout.decode().split()} & (SLOW | {"click"})


def test_a_reader_that_stops_early_is_no_error():
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "tokverify", "cases", "list"]
    result = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (result.returncode, result.stderr) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_is_one_line():
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "tokverify", "cases", "list"]
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert (result.returncode, result.stderr) == (2, b"error: cannot write to stdout: No space left on device\n")


def test_a_terminal_that_is_not_utf8_gets_escapes():
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    result = tokverify("decode", str(SAMPLE / "sample.gguf"), "5", env=environment)
    assert (result.returncode, result.stdout.strip()) == (0, b"\\xb7\\xb7\\xb7")
