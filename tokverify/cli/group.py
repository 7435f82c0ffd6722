"""The group all commands belong to: turns whatever happens into an exit code and clear words on stderr."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any, NoReturn

import click

from tokverify.cli.output import fail_on_stdout, flush_stdout, tell
from tokverify.errors import TokverifyError
from tokverify.text.visible import visible_message

_CANNOT_RUN = 2
_BUG = 3
_INTERRUPTED = 130

_BUG_MESSAGE = (
    "this is a bug in tokverify, not in your files. Please report it in the issue tracker of the project,"
    " with the command line and everything above."
)


class TokverifyGroup(click.Group):
    """A click group whose commands return their exit code; click itself would map failures otherwise.

    A command of `modules` is imported once it is asked for: the function of its name in the module named there.
    """

    def __init__(self, *args: Any, modules: Mapping[str, str] | None = None, **kwargs: Any) -> None:  # noqa: ANN401 - click's
        super().__init__(*args, **kwargs)
        self._modules = modules or {}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Name the commands, those of `modules` first, in the order they stand there."""
        return list({**self._modules, **self.commands})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, or None if there is none of this name."""
        if cmd_name in self._modules:
            found: click.Command = getattr(import_module(self._modules[cmd_name]), cmd_name)
            return found
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which one is probably meant: click knows only those that are imported.

        Raises:
            UsageError: If there is none of this name.
        """
        if self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            near = get_close_matches(args[0], self.list_commands(ctx), n=1)
            if near:
                ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)

    def main(self, *args: Any, **extra: Any) -> Any:  # noqa: ANN401 - click's
        """Run a command line, or complete one for a shell."""
        _open_missing_streams()
        _never_fail_to_write()
        try:
            with _failures_mapped():
                return super().main(*args, **extra)
        except click.exceptions.Exit as ended:
            # What completion comes to; all else click has made a SystemExit of.
            sys.exit(ended.exit_code)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: object
    ) -> click.Context:
        """Parse the options of the group, of which some, such as `--help`, are answered here."""
        with _failures_mapped():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> NoReturn:
        """Run a command and leave with its exit code."""
        with _failures_mapped():
            code: int | None = super().invoke(ctx)
            flush_stdout()
        ctx.exit(code or 0)


@contextmanager
def _failures_mapped() -> Iterator[None]:
    """Turn whatever ends the block early into an exit code, and clear words on stderr.

    Raises:
        Exit: With the exit code.
    """
    try:
        with _failures_named():
            yield
    except click.exceptions.Exit:
        raise
    except click.ClickException as error:
        _tell_lines(_shown(error))
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        tell("interrupted")
        code = _INTERRUPTED
    except TokverifyError as error:
        _show_error(error)
        code = _CANNOT_RUN
    except Exception:  # noqa: BLE001 - whatever else gets here is a bug, and must not look like a mismatch
        code = _report_bug()
    else:
        return
    raise click.exceptions.Exit(code)


@contextmanager
def _failures_named() -> Iterator[None]:
    """Name the file that the system refuses, which may be stdout.

    Raises:
        TokverifyError: In place of an OSError.
        Exit: If nobody reads what is written to stdout.
    """
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            # Such as a name that is too long, which looking for a file already raises.
            raise TokverifyError(f"{error.filename}: {error.strerror}; check the path") from error
        if traceback.extract_tb(error.__traceback__)[-1].filename == click.utils.__file__:
            # click itself was writing a help text or the version.
            fail_on_stdout(error)
        if not _is_somewhere():
            raise TokverifyError("the current directory is gone; change to one that is there") from error
        raise


def _is_somewhere() -> bool:
    with suppress(OSError):
        return bool(Path.cwd())
    return False


def _report_bug() -> int:
    _tell_lines(traceback.format_exc().rstrip("\n"))
    tell(_BUG_MESSAGE)
    return _BUG


def _shown(error: click.ClickException) -> str:
    """Return what click says of an error."""
    told = StringIO()
    error.show(told)
    return told.getvalue().removesuffix("\n")


def _tell_lines(text: str) -> None:
    """Write to stderr what may hold anything, such as a name or a token."""
    tell("\n".join(map(visible_message, text.split("\n"))))


def _show_error(error: TokverifyError) -> None:
    """Write an error to stderr; some have several lines, each a complaint of its own."""
    for line in str(error).split("\n"):
        tell(f"error: {visible_message(line)}")


def _open_missing_streams() -> None:
    """Let what a shell has closed (`<&-`, `>&-`, `2>&-`) be empty or go nowhere; Python leaves it None."""
    sys.stdin = sys.stdin or Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 - open until Python ends
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - likewise
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - likewise


def _never_fail_to_write() -> None:
    """Let a terminal that is not UTF-8 show escapes where it lacks a character."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
