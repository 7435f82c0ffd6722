"""The group all commands belong to: turns whatever happens into an exit code and clear words on stderr."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from typing import NoReturn

import click

from tokverify.cli.output import flush_stdout
from tokverify.errors import TokverifyError
from tokverify.visible import visible

_CANNOT_RUN = 2
_BUG = 3
_INTERRUPTED = 130

_BUG_MESSAGE = (
    "this is a bug in tokverify, not in your files. Please report it in the issue tracker of the project,"
    " with the command line and everything above."
)


class TokverifyGroup(click.Group):
    """A click group whose commands return their exit code; click itself would map failures otherwise."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Name the commands in the order they were added in, which is the one a user meets them in."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> NoReturn:
        """Run a command and leave with its exit code."""
        _open_missing_streams()
        _never_fail_to_write()
        ctx.exit(self._exit_code(ctx))

    def _exit_code(self, ctx: click.Context) -> int:
        try:
            code: int | None = super().invoke(ctx)
            flush_stdout()
        except (click.ClickException, click.exceptions.Exit):
            raise
        except (click.Abort, KeyboardInterrupt):
            click.echo("interrupted", err=True)
            return _INTERRUPTED
        except TokverifyError as error:
            _show_error(error)
            return _CANNOT_RUN
        except OSError as error:
            # Such as a name that is too long, which looking for a file already raises.
            if error.filename is None:
                return _report_bug()
            _show_error(TokverifyError(f"{error.filename}: {error.strerror}; check the path"))
            return _CANNOT_RUN
        except Exception:  # noqa: BLE001 - whatever else gets here is a bug, and must not look like a mismatch
            return _report_bug()
        return code or 0


def _report_bug() -> int:
    traceback.print_exc()
    click.echo(_BUG_MESSAGE, err=True)
    return _BUG


def _show_error(error: TokverifyError) -> None:
    """Write an error to stderr; some have several lines, each a complaint of its own."""
    for line in str(error).split("\n"):
        click.echo(f"error: {visible(line, mark_spaces=False)}", err=True)


def _open_missing_streams() -> None:
    """Let what a shell has closed (`<&-`, `>&-`) be empty or go nowhere; Python leaves it None."""
    sys.stdin = sys.stdin or Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 - open until Python ends
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - likewise


def _never_fail_to_write() -> None:
    """Let a terminal that is not UTF-8 show escapes where it lacks a character."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
