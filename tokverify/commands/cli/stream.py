"""Write to stdout and stderr, which may be closed, full, or the log of a CI job."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Callable
from typing import NoReturn, TextIO

import click

from tokverify.errors import GoneError, TokverifyError
from tokverify.render.options import RenderOptions
from tokverify.system.ci import escape_for_log
from tokverify.text.visible import visible_message
from tokverify.text.wording import truncate

_CLOSED_PIPE = 141
_MAX_COMPLAINT = 2000
"""In characters. Values are truncated where they are quoted; this is for lists of many."""


def write_text(text: str, *, commands: bool = False) -> None:
    """Write text to stdout; with `commands`, GitHub Actions may execute the commands in it."""
    shown = text if commands else _escape_for_log(text, sys.stdout)
    _to_stdout(lambda: sys.stdout.write(shown))


def write_message(text: str) -> None:
    """Write sentences to stdout, wrapped at the width of the terminal, if it is one."""
    write_text(_fit(text, sys.stdout))


def write_bytes(data: bytes) -> None:
    """Write bytes to stdout unchanged."""
    _to_stdout(lambda: sys.stdout.buffer.write(data))


def flush_stdout() -> None:
    """Flush stdout, so that a failure occurs here and not when Python exits."""
    _to_stdout(lambda: None)


def _to_stdout(write: Callable[[], object]) -> None:
    try:
        write()
        sys.stdout.flush()
    except OSError as error:
        fail_on_stdout(error)


def fail_on_stdout(error: OSError) -> NoReturn:
    """Stop using stdout after an error.

    Raises:
        Exit: If nobody reads it anymore.
        TokverifyError: If it cannot be written.
    """
    _discard(sys.stdout)
    if isinstance(error, BrokenPipeError):
        # The reader, such as `head`, has seen enough. This is neither an error nor a success.
        raise click.exceptions.Exit(_CLOSED_PIPE) from None
    raise TokverifyError(f"cannot write to stdout: {error.strerror}") from error


def write_stderr(line: str) -> None:
    """Write a message to stderr, wrapped like one on stdout. If that fails, the exit code is all that remains."""
    shown = _escape_for_log(_fit(line, sys.stderr), sys.stderr)
    try:
        click.echo(shown, err=True)
    except OSError:
        _discard(sys.stderr)


def write_error(error: TokverifyError) -> None:
    """Write an error to stderr, one line for each complaint."""
    for complaint in error.complaints:
        write_stderr(f"error: {truncate(visible_message(complaint), _MAX_COMPLAINT)}")


def write_gone(reason: str) -> None:
    """Write to stderr why a side has stopped answering, if one has: a report in a file may not be read by a person."""
    if reason:
        write_error(GoneError(reason))


def _fit(text: str, stream: TextIO) -> str:
    """Wrap a text at the width of the terminal, if the stream is one."""
    if not stream.isatty():
        return text
    from tokverify.render.wrapping import wrap

    return wrap(text, shutil.get_terminal_size().columns)


def _escape_for_log(text: str, stream: TextIO) -> str:
    """Escape text that GitHub Actions would execute, unless the stream is redirected to a file."""
    return text if _is_file(stream) else escape_for_log(text)


def _is_file(stream: TextIO) -> bool:
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return False


def _discard(stream: TextIO) -> None:
    """Redirect what is still buffered to nowhere; otherwise Python would fail again on exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def render_options(*, no_color: bool, verbose: bool = False, quiet: bool = False) -> RenderOptions:
    """Choose how to render for stdout: with the width and colors of the terminal, if it is one.

    NO_COLOR (https://no-color.org) disables color, and FORCE_COLOR (https://force-color.org) enables it in a pipe.
    """
    plain = no_color or bool(os.environ.get("NO_COLOR"))
    forced = bool(os.environ.get("FORCE_COLOR"))
    if not sys.stdout.isatty():
        return RenderOptions(color=forced and not plain, verbose=verbose, quiet=quiet)
    plain = plain or (os.environ.get("TERM") == "dumb" and not forced)
    width = shutil.get_terminal_size().columns
    return RenderOptions(width=width, color=not plain, verbose=verbose, quiet=quiet)
