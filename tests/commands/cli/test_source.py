"""Test reading the text that a command works on."""

import io
import os
from pathlib import Path

import pytest

from tokverify.commands.cli.source import read_text
from tokverify.errors import TokverifyError
from tokverify.system import input_file


def test_text_is_read_unchanged(tmp_path: Path):
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\0\n")
    assert read_text(None, path) == "\ufeffa\r\nb\0\n"


@pytest.mark.parametrize("name", ["/dev/zero", "stdin"])
def test_an_endless_text_is_an_error(monkeypatch, name: str):
    if not Path("/dev/zero").exists():
        pytest.skip("no /dev/zero on this system")
    monkeypatch.setattr(input_file, "MAX_TEXT_BYTES", 1 << 16)
    with Path("/dev/zero").open("rb") as endless:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(endless))
        with pytest.raises(TokverifyError, match=f"{name}: larger than .*, the limit for the text; reduce or split it"):
            read_text(None, Path(name) if name != "stdin" else None)


@pytest.mark.parametrize(
    ("name", "complaint"), [("absent", "No such file or directory; check the path"), (".", "Is a directory")]
)
def test_an_unreadable_file_is_an_error(tmp_path: Path, name: str, complaint: str):
    with pytest.raises(TokverifyError, match=f"cannot read the text: {complaint}"):
        read_text(None, tmp_path / name)


def test_a_text_that_is_not_utf_8_is_an_error(tmp_path: Path):
    (tmp_path / "text").write_bytes(b"caf\xe9")
    with pytest.raises(TokverifyError, match="text: byte 0xE9 at offset 3 is not UTF-8"):
        read_text(None, tmp_path / "text")
    with pytest.raises(TokverifyError, match="the text: byte 0xE9 at offset 3"):
        read_text(os.fsdecode(b"caf\xe9"), None)
