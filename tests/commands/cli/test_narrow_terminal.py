"""What a new user sees first fits into a terminal with 80 columns."""

import fcntl
import os
import pty
import re
import shutil
import struct
import sys
import termios
from pathlib import Path

import pytest
from rich.cells import cell_len

from support.paths import SAMPLE
from support.selection import thinned

COLUMNS = 80
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

pytestmark = pytest.mark.process


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    shutil.copytree(SAMPLE, tmp_path / "models")
    return tmp_path / "models"


def show(directory: Path, *arguments: str) -> list[str]:
    """Return the lines that a command shows in a terminal, as they are in the end."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(directory)
        os.execve(sys.executable, [sys.executable, "-m", "tokverify", *arguments], _environment())  # noqa: S606 - Python itself
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    output = b"".join(iter(lambda: _read(terminal), b""))
    os.close(terminal)
    os.waitpid(child, 0)
    lines = ESCAPES.sub("", output.decode()).replace("\r\n", "\n").split("\n")
    return [line.rpartition("\r")[2] for line in lines]


def _environment() -> dict[str, str]:
    hidden = {"NO_COLOR", "LINES", "CI", "GITHUB_ACTIONS"}
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    return {**kept, "TERM": "xterm", "COLUMNS": str(COLUMNS)}


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        # What Linux returns once the child has closed its side.
        return b""


def can_be_broken(line: str) -> bool:
    """Whether a line that is too wide has a place to break it, which neither a path nor a command has."""
    return len(line.split()) > 1 and not line.startswith("$ ")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    thinned(
        2,
        [
            (["demo"], "Now try it with your own model"),
            (["run", "sample.gguf"], "657 match"),
            (["run", "sample-broken.gguf", "-r", "sample.tokenizer.model"], "83 mismatch"),
            (["fix", "sample-broken.gguf", "-r", "sample.tokenizer.model", "-o", "fixed.gguf"], "repaired: every"),
            (["init"], "next, run `tokverify check`"),
            (["sample.gguf"], "To verify this file, write"),
            (["run", "sampel.gguf"], "did you mean"),
            (["run", "sample.gguf", "-o", "report.html", "-f", "table"], "implies the format html"),
            (["run", "sample.gguf", "-o", "fixed.gguf"], "this is the name of a model"),
            (["--help"], "Documentation:"),
        ],
    ),
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_every_line_fits(directory: Path, arguments: list[str], expected: str):
    lines = show(directory, *arguments)
    assert expected in " ".join(" ".join(lines).split())
    assert [line for line in lines if cell_len(line) > COLUMNS and can_be_broken(line)] == []
