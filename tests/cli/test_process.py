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


PRINTING = [["cases", "list"], ["--help"], ["--version"], ["run", "--help"]]


@pytest.mark.parametrize("arguments", PRINTING)
def test_a_reader_that_stops_early_is_no_error(arguments: list[str]):
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "tokverify", *arguments]
    result = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (result.returncode, result.stderr) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("arguments", PRINTING)
def test_a_full_disk_is_one_line(arguments: list[str]):
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "tokverify", *arguments]
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert (result.returncode, result.stderr) == (2, b"error: cannot write to stdout: No space left on device\n")


def test_a_terminal_that_is_not_utf8_gets_escapes():
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    result = tokverify("decode", str(SAMPLE / "sample.gguf"), "5", env=environment)
    assert (result.returncode, result.stdout.strip()) == (0, b"\\xb7\\xb7\\xb7")


def test_a_closed_stderr_is_no_bug():
    code = (
        "import os, sys; os.close(2); sys.stderr = None\n"
        f"from tokverify.cli import main; main(['run', {str(SAMPLE / 'sample.gguf')!r}, '-r', 'rebuilt'])"
    )
    result = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=False)
    assert result.returncode == 0
    assert result.stdout


@pytest.mark.parametrize(("number", "code", "told"), [("SIGINT", 130, b"interrupted\n"), ("SIGTERM", 143, b"")])
def test_a_signal_while_modules_are_imported_ends_without_a_traceback(number: str, code: int, told: bytes):
    program = (
        "import builtins, signal\nload = builtins.__import__\n"
        "def interrupting(name, *rest):\n"
        f"    if name == 'click': signal.raise_signal(signal.{number})\n"
        "    return load(name, *rest)\n"
        "builtins.__import__ = interrupting\n"
        "from tokverify.__main__ import main\nmain()"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (result.returncode, result.stderr) == (code, told)
