"""Write what a command has to say: to stdout, or to a file that is either whole or untouched."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from tokverify.errors import TokverifyError
from tokverify.formats import RenderOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_Render = TypeVar("_Render")

_CLOSED_PIPE = 141


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """How the user wants a report, and where; `output` is None for stdout."""

    format_name: str | None
    output: Path | None
    quiet: bool
    verbose: bool
    no_color: bool


def write_text(text: str) -> None:
    """Write text to stdout."""
    _to_stdout(lambda: sys.stdout.write(text))


def write_bytes(data: bytes) -> None:
    """Write bytes to stdout, as they are."""
    _to_stdout(lambda: sys.stdout.buffer.write(data))


def flush_stdout() -> None:
    """Write out what is buffered, so that a failure is met here and not when Python exits."""
    _to_stdout(lambda: None)


def _to_stdout(write: Callable[[], object]) -> None:
    try:
        write()
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the output, such as `head`, has seen enough: no error, but not a success either.
        _discard_stdout()
        raise click.exceptions.Exit(_CLOSED_PIPE) from None
    except OSError as error:
        _discard_stdout()
        raise TokverifyError(f"cannot write to stdout: {error.strerror}") from error


def _discard_stdout() -> None:
    """Send what is still buffered nowhere; Python would fail on it again on exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def check_writable(path: Path, inputs: Iterable[Path | str | None] = ()) -> None:
    """Fail before the work is done if a file could not, or must not, be written after it.

    Raises:
        TokverifyError: If the path is a directory, its directory is missing, or it is one of the `inputs`.
    """
    for given in inputs:
        if given and path.exists() and Path(given).exists() and path.samefile(given):
            raise TokverifyError(f"{path}: cannot write the report: it is an input, {given}; name another file")
    if path.is_dir():
        raise TokverifyError(f"{path}: cannot write the report: it is a directory; name a file in it")
    if not path.parent.is_dir():
        raise TokverifyError(f"{path}: cannot write the report: {path.parent} is no directory; create it first")


def write_file(path: Path, text: str) -> None:
    """Replace a file in one step: whoever reads it sees the old content or the new, never a part.

    Raises:
        TokverifyError: If it cannot be written.
    """
    try:
        # subtle: /dev/stdout, a pipe or /dev/null must be written to, not replaced.
        if path.exists() and not path.is_file():
            path.write_bytes(text.encode())
        else:
            _replace(path.resolve(), text.encode())
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links
        reason = getattr(error, "strerror", None) or error
        raise TokverifyError(f"{path}: cannot write the report: {reason}") from error


def _replace(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(data)
        if path.exists():
            shutil.copymode(path, temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def render_options(*, no_color: bool, verbose: bool = False, quiet: bool = False) -> RenderOptions:
    """Return how to write to stdout: as wide and colorful as it is, if it is a terminal."""
    if not sys.stdout.isatty():
        return RenderOptions(verbose=verbose, quiet=quiet)
    # https://no-color.org
    plain = no_color or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    width = shutil.get_terminal_size().columns
    return RenderOptions(width=width, color=not plain, verbose=verbose, quiet=quiet)


def chosen_format(options: ReportOptions, formats: Mapping[str, _Render]) -> _Render:
    """Return the format asked for, or else the one that the file to write is named after, or else the table."""
    suffix = options.output.suffix.removeprefix(".") if options.output else ""
    return formats[options.format_name or (suffix if suffix in formats else "table")]


def write_report(options: ReportOptions, render: Callable[[RenderOptions], str], verdict: str) -> None:
    """Write a report to where it is wanted; with one in a file, its verdict goes to stderr."""
    if options.output is None:
        shown = render_options(no_color=options.no_color, verbose=options.verbose, quiet=options.quiet)
        write_text(render(shown))
        return
    write_file(options.output, render(RenderOptions(verbose=options.verbose, quiet=options.quiet)))
    if not options.quiet:
        click.echo(f"{verdict}; the report is in {options.output}", err=True)
