"""Test what requires a separate process: imports, pipes, encodings."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from support.paths import SAMPLE
from support.selection import thinned
from tokverify.commands.cli import _TASKS, main

SLOW = {"gguf", "huggingface_hub", "numpy", "regex", "rich", "sentencepiece", "tokenizers", "yaml"}


COMMAND = [sys.executable, "-m", "tokverify"]
# With it, Python would have nothing left to write on exit, which is what fails again.
os.environ.pop("PYTHONUNBUFFERED", None)


def tokverify(*arguments: str, **options) -> subprocess.CompletedProcess[bytes]:
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run([*COMMAND, *arguments], check=False, **streams)


def test_the_package_runs_as_a_module():
    result = tokverify("--version")
    assert result.returncode == 0
    assert result.stdout.startswith(b"tokverify")


@pytest.mark.parametrize("arguments", thinned(2, [["--help"], ["run", "--help"], ["fuzz", "--help"], ["--version"]]))
def test_help_imports_nothing_slow(arguments):
    code = (
        "import sys\nfrom tokverify.commands.cli import main\n"
        f"try: main({arguments!r})\nexcept SystemExit: print(*sorted(sys.modules), file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    modules = {name.partition(".")[0] for name in result.stderr.decode().split()}
    assert "click" in modules
    assert not modules & SLOW


def test_help_imports_few_modules():
    code = (
        "import sys\nfrom tokverify.commands.cli import main\ntry: main(['--help'])\n"
        "finally: print(sum(name.startswith('tokverify') for name in sys.modules), file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert int(result.stderr) <= 25


def test_the_summaries_of_help_are_those_of_the_commands():
    context = click.Context(main)
    for summaries in _TASKS.values():
        for name, summary in summaries.items():
            command = main.get_command(context, name)
            assert command is not None
            assert command.get_short_help_str(200) == summary


def test_importing_the_package_imports_nothing_slow():
    code = "import sys, tokverify; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert not {name.partition(".")[0] for name in result.stdout.decode().split()} & (SLOW | {"click"})


PRINTING = [["cases", "list"], ["--help"], ["--version"], ["run", "--help"]]
COMPLETING = {**os.environ, "_TOKVERIFY_COMPLETE": "bash_source"}
needs_full_disk = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")


@pytest.mark.parametrize(
    ("arguments", "environment"), thinned(2, [*((arguments, os.environ) for arguments in PRINTING), ([], COMPLETING)])
)
def test_a_closed_pipe_is_not_an_error(arguments: list[str], environment: dict[str, str]):
    read, write = os.pipe()
    os.close(read)
    result = tokverify(*arguments, stdout=write, env=environment)
    os.close(write)
    assert (result.returncode, result.stderr) == (141, b"")


@pytest.mark.parametrize("variable", [{}, {"PYTHONUNBUFFERED": "1"}])
def test_a_pipe_that_is_closed_halfway_is_neither_an_error_nor_a_success(variable: dict[str, str]):
    arguments = ["inspect", str(SAMPLE / "sample.gguf"), "--tokens", "0-1999"]  # more than a pipe holds
    environment = {**os.environ, **variable}
    pipe = subprocess.PIPE
    with subprocess.Popen([*COMMAND, *arguments], stdout=pipe, stderr=pipe, env=environment, bufsize=0) as process:
        process.stdout.read(10)
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == (b"", 141)


@needs_full_disk
@pytest.mark.parametrize(
    ("arguments", "environment"), thinned(2, [*((arguments, os.environ) for arguments in PRINTING), ([], COMPLETING)])
)
def test_a_full_disk_is_a_one_line_error(arguments: list[str], environment: dict[str, str]):
    with Path("/dev/full").open("wb") as full:
        result = tokverify(*arguments, stdout=full, env=environment)
    assert (result.returncode, result.stderr) == (2, b"error: cannot write to stdout: No space left on device\n")


MODEL = str(SAMPLE / "sample.gguf")
REFERENCE = str(SAMPLE / "sample.tokenizer.model")


@needs_full_disk
@pytest.mark.parametrize(
    ("arguments", "code"),
    thinned(
        2,
        [
            (["run", "--nonsense"], 2),
            (["nonsense"], 2),
            ([], 2),
            (["run", "absent.gguf"], 2),
            (["run", MODEL, "-r", "rebuilt", "-k", "tabs/*", "-o", "{tmp}/report.json"], 0),
            (["run", str(SAMPLE / "sample-broken.gguf"), "-r", REFERENCE, "--fail-fast", "--no-diagnose"], 1),
            (["encode", MODEL, "<bos>x", "--add-special"], 0),
            (["fuzz", MODEL, "-r", "rebuilt", "--texts", "50", "--no-replay", "--save", "{tmp}/found.yaml"], 0),
        ],
    ),
)
def test_the_exit_code_is_kept_if_stderr_cannot_be_written(tmp_path: Path, arguments: list[str], code: int):
    arguments = [argument.format(tmp=tmp_path) for argument in arguments]
    with Path("/dev/full").open("wb") as full:
        assert tokverify(*arguments, stderr=full).returncode == code


def test_a_terminal_that_is_not_utf8_gets_escapes():
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    result = tokverify("decode", str(SAMPLE / "sample.gguf"), "5", env=environment)
    assert (result.returncode, result.stdout.strip()) == (0, b"\\xb7\\xb7\\xb7")


def test_a_closed_stderr_is_not_a_bug():
    code = (
        "import os, sys; os.close(2); sys.stderr = None\n"
        f"from tokverify.commands.cli import main; main(['run', {str(SAMPLE / 'sample.gguf')!r}, '-r', 'rebuilt'])"
    )
    result = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=False)
    assert result.returncode == 0
    assert result.stdout


@pytest.mark.parametrize(("number", "code", "message"), [("SIGINT", 130, b"interrupted\n"), ("SIGTERM", 143, b"")])
def test_waiting_for_input_can_be_interrupted(tmp_path: Path, number: str, code: int, message: bytes):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    arguments = ["encode", MODEL, "--file", str(pipe)]
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    writer = once_there_is_a_reader(pipe)
    # subtle: a signal just before Python starts to read is handled only after the read.
    time.sleep(0.5)
    process.send_signal(getattr(signal, number))
    _, stderr = process.communicate(timeout=60)
    os.close(writer)
    assert (process.returncode, stderr) == (code, message)


def once_there_is_a_reader(pipe: Path) -> int:
    """Open a pipe for writing, which fails until a process reads from it."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            assert time.monotonic() < deadline, "nobody reads"
            time.sleep(0.02)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "{p}"],
        ["run", MODEL, "-r", "{p}"],
        ["run", "{p}", "--no-reference"],
        ["convert", "{p}", "-o", "{p}.json"],
        ["fix", "{p}", "-o", "{p}.gguf"],
        ["inspect", MODEL, "--texts", "{p}"],
        ["train", "bpe", "{p}", "-o", "{p}.out"],
        ["run", MODEL, "--cases", "{p}"],
        ["run", MODEL, "--baseline", "{p}"],
        ["run", MODEL, "--no-reference", "--waivers", "{p}"],
        ["chat", MODEL, "--conversations", "{p}"],
        ["fuzz", MODEL, "--corpus", "{p}"],
        ["diff", MODEL, str(SAMPLE / "sample-broken.gguf"), "--lines", "{p}"],
        ["report", "show", "{p}"],
        ["report", "show", "/dev/zero"],
        ["cases", "check", "/dev/zero"],
    ],
)
def test_a_file_without_an_end_is_a_one_line_error(tmp_path: Path, arguments: list[str]):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    result = CliRunner().invoke(main, [argument.format(p=pipe) for argument in arguments])
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "not a regular file" in result.stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "{p}"],
        ["run", MODEL, "--cases", "/dev/fd/0"],
        ["cases", "record", MODEL, "-r", "rebuilt", "--cases", "/dev/fd/0"],
    ],
)
def test_an_unusable_pipe_is_a_one_line_error(tmp_path: Path, arguments: list[str]):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    suite = b"cases:\n  - id: a\n    text: a\n"
    result = tokverify(*(argument.format(p=pipe) for argument in arguments), input=suite)
    assert result.returncode == 2
    assert result.stderr.count(b"\n") == 1
    assert b"not a regular file" in result.stderr


@pytest.mark.skipif(not Path("/dev/fd/0").exists(), reason="no /dev/fd on this system")
def test_a_text_can_be_read_from_a_pipe():
    assert tokverify("encode", MODEL, "--file", "/dev/fd/0", input=b"one text").returncode == 0
