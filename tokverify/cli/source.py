"""Read the text that a command works on: from its arguments, a file or stdin, exactly as it is."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import BinaryIO

import click

from tokverify.errors import TokverifyError
from tokverify.system.input_file import require_fetched

# The tokens of more would fill the memory, and a file such as /dev/zero has no end.
_MAX_BYTES = 1 << 30


def read_text(argument: str | None, file: Path | None) -> str:
    """Return the argument if there is one, else the file, else stdin; no newline is changed or stripped.

    Raises:
        TokverifyError: If the file cannot be read, or the text is not UTF-8.
    """
    if argument is not None and file is not None:
        raise click.UsageError("a text and --file were both given; give one")
    if argument is not None:
        # What of the command line is not UTF-8 comes as lone surrogates.
        return _decode(argument.encode("utf-8", "surrogateescape"), "the text")
    if file is not None:
        return _decode(_read_file(file), str(file))
    return _decode(_read_all(sys.stdin.buffer, "stdin"), "stdin")


def _read_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = _read_all(file, str(path))
    except OSError as error:
        raise TokverifyError(f"{path}: cannot read the text: {error.strerror}; check the path") from error
    require_fetched(path, data)
    return data


def _read_all(file: BinaryIO, source: str) -> bytes:
    """Read to the end, also what cannot be read twice, such as `<(command)`."""
    data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise TokverifyError(f"{source}: more than {_MAX_BYTES >> 30} GiB of text; give a part of it")
    return data


def _decode(data: bytes, source: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise TokverifyError(
            f"{source}: byte 0x{data[error.start]:02X} at offset {error.start:,} is not UTF-8; convert it first"
        ) from None
