"""Read the text that a command works on: an argument, a file or stdin."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tokverify.system.input_file import decode_verbatim, read_stream, read_verbatim


def read_text(argument: str | None, file: Path | None) -> str:
    """Return the argument if there is one, otherwise the content of the file, otherwise that of stdin.

    No newline is changed or stripped.

    Raises:
        UsageError: If both are given.
        TokverifyError: If the file cannot be read, or the text is not UTF-8.
    """
    if argument is not None and file is not None:
        raise click.UsageError("use either an argument or --file, not both")
    if argument is not None:
        # Bytes of the command line that are not UTF-8 arrive as lone surrogates.
        return decode_verbatim(argument.encode("utf-8", "surrogateescape"), "the text")
    if file is not None:
        return read_verbatim(file)
    return read_stream(sys.stdin.buffer, "stdin")
