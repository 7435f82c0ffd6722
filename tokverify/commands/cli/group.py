"""The group of all commands: it turns every outcome into an exit code, and every failure into a clear message."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from functools import wraps
from importlib import import_module
from io import RawIOBase, StringIO
from pathlib import Path
from typing import Any, NoReturn

import click

from tokverify.commands.cli.stream import fail_on_stdout, flush_stdout, write_error, write_stderr
from tokverify.errors import TokverifyError
from tokverify.text.visible import visible_message

RENAMED: Mapping[str, Mapping[str, str]] = {
    "corpus verify": {
        "--bos-eos": "--add-special",
        "--no-bos-eos": "--no-add-special",
        "--text": "--text-column",
    },
    "conformance": {"--engine": "--reference"},
    "convert": {"--count": "--texts", "--bos": "--bos-token", "--eos": "--eos-token"},
    "diff": {"--corpus": "--lines", "--fuzz": "--time"},
    "explain": {"--full": "--verbose"},
    "fuzz": {"--count": "--texts", "--decode": "--decoding"},
    "learn": {"--count": "--texts"},
}
"""Full name of a command -> old name of an option -> new name."""


def replace_old_names(command: str, arguments: Sequence[str]) -> list[str]:
    """Replace old names of options in the arguments of a command, and note on stderr what they are called now."""
    names = RENAMED.get(command, {})
    replaced: list[str] = []
    for index, argument in enumerate(arguments):
        if argument == "--":
            return [*replaced, *arguments[index:]]
        name, equals, value = argument.partition("=")
        if name in names:
            write_stderr(f"note: {name} is now called {names[name]}")
        replaced.append(names.get(name, name) + equals + value)
    return replaced


def old_command(new: str) -> Callable[[click.Command], click.Command]:
    """Mark a command that is now a form of another one, `new`: it is hidden, and notes its new form on stderr.

    The note is left out if the report is JSON, or only the verdict is requested.
    """

    def mark(command: click.Command) -> click.Command:
        perform = command.callback or (lambda: None)

        @wraps(perform)
        def perform_and_note(**options: Any) -> Any:  # noqa: ANN401 - the options and the result of the command
            if not options["quiet"] and options["format_name"] != "json":
                write_stderr(f"note: `tokverify {command.name}` is now `tokverify {new}`")
            return perform(**options)

        command.callback = perform_and_note
        command.hidden = True
        command.epilog = f"This command is now `tokverify {new}`; the old name works for one more release."
        return command

    return mark


_CANNOT_RUN = 2
_BUG = 3
_INTERRUPTED = 130

_MEANT: Mapping[str, str] = {
    "compare": "diff",
    "help": "--help",
    "test": "check",
    "validate": "check",
    "verify": "run",
}
"""What people call a command -> the command they mean."""

_MODEL_SUFFIXES = frozenset({".gguf", ".json", ".model", ".tiktoken"})

_MEMORY_MESSAGE = (
    "error: out of memory; close other programs, raise the limit for memory, or use smaller input or fewer jobs (-j)"
)

_BUG_MESSAGE = (
    "this is a bug in tokverify, not in your files. Please report it in the issue tracker of the project,"
    " with the command line and everything above."
)


class TokverifyGroup(click.Group):
    """A click group whose commands return their exit code, with other codes for failures than click's.

    `modules` maps the names of commands to modules. A module is imported only when its command is needed; the command
    is the function of the same name. `tasks` maps headings of the help to the commands that are listed below them, with
    summaries, so that the help imports none of them.
    """

    def __init__(
        self,
        *args: Any,  # noqa: ANN401 - click's
        modules: Mapping[str, str] | None = None,
        tasks: Mapping[str, Mapping[str, str]] | None = None,
        **kwargs: Any,  # noqa: ANN401 - click's
    ) -> None:
        super().__init__(*args, **kwargs)
        self._modules = modules or {}
        self._tasks = tasks or {}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """List the names of the commands, in order, those of `modules` first."""
        return list({**self._modules, **self.commands})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; None if there is none of this name."""
        if cmd_name in self._modules:
            command: click.Command = getattr(import_module(self._modules[cmd_name]), cmd_name)
            return command
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by task; a command without a task is not listed."""
        if not self._tasks:
            super().format_commands(ctx, formatter)
            return
        longest = max(len(name) for summaries in self._tasks.values() for name in summaries)
        for task, summaries in self._tasks.items():
            with formatter.section(task):
                formatter.write_dl([(name.ljust(longest), summary) for name, summary in summaries.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write where the documentation of this installation is, and then the epilog."""
        from tokverify.commands.project.installation import documentation

        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(f"\b\nDocumentation:\n  {documentation()}")
        super().format_epilog(ctx, formatter)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or suggest a similar one; click itself knows only those that are imported.

        Options under their old names get their new ones.

        Raises:
            UsageError: If there is no such command.
        """
        if self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            if meant := self._suggest_command(ctx, args[0]):
                ctx.fail(f"No such command {args[0]!r}. Did you mean {meant!r}?")
            if _looks_like_model(args[0]):
                ctx.fail(f"No such command {args[0]!r}. To verify this file, write `tokverify run {args[0]}`.")
        name, command, arguments = super().resolve_command(ctx, args)
        return name, command, replace_old_names(args[0], arguments)

    def _suggest_command(self, ctx: click.Context, name: str) -> str | None:
        """Return the command that is meant by a name that none has; None if it resembles nothing."""
        known = self.list_commands(ctx)
        near = get_close_matches(name, [*known, *_MEANT], n=1)
        return _MEANT.get(near[0], near[0]) if near else None

    def main(self, *args: Any, **extra: Any) -> Any:  # noqa: ANN401 - click's
        """Run a command line, or complete one for a shell."""
        _open_missing_streams()
        _buffer_stdout()
        _escape_unsupported_characters()
        try:
            with _handle_failures():
                return super().main(*args, **extra)
        except click.exceptions.Exit as ended:
            # Raised by shell completion. In all other cases, click has raised SystemExit.
            sys.exit(ended.exit_code)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: object
    ) -> click.Context:
        """Parse the options of the group; some of them, such as `--help`, take effect here."""
        with _handle_failures():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> NoReturn:
        """Run a command and exit with its code."""
        with _handle_failures():
            code: int | None = super().invoke(ctx)
            flush_stdout()
        ctx.exit(code or 0)


def _looks_like_model(argument: str) -> bool:
    path = Path(argument)
    return path.suffix.lower() in _MODEL_SUFFIXES or len(path.parts) > 1


@contextmanager
def _handle_failures() -> Iterator[None]:
    """Turn every failure of the block into an exit code and a clear message.

    Raises:
        Exit: With the exit code.
    """
    try:
        with _explain_os_errors():
            yield
    except click.exceptions.Exit:
        raise
    except click.ClickException as error:
        _write_visible(_format(error))
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        write_stderr("interrupted")
        code = _INTERRUPTED
    except TokverifyError as error:
        write_error(error)
        code = _CANNOT_RUN
    except MemoryError:
        write_stderr(_MEMORY_MESSAGE)
        code = _CANNOT_RUN
    except Exception:  # noqa: BLE001 - anything else is a bug, and must not look like a mismatch
        code = _report_bug()
    else:
        return
    raise click.exceptions.Exit(code)


@contextmanager
def _explain_os_errors() -> Iterator[None]:
    """Name the file that the system refuses to read or write; it may be stdout.

    Raises:
        TokverifyError: Instead of an OSError.
        Exit: If nobody reads stdout anymore.
    """
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            # Such as a name that is too long, which already fails when looking for the file.
            raise TokverifyError(f"{error.filename}: {error.strerror}; check the path") from error
        if traceback.extract_tb(error.__traceback__)[-1].filename == click.utils.__file__:
            # click itself was writing the help or the version.
            fail_on_stdout(error)
        if not _has_current_directory():
            raise TokverifyError("the current directory no longer exists; change to another one") from error
        raise


def _has_current_directory() -> bool:
    with suppress(OSError):
        return bool(Path.cwd())
    return False


def _report_bug() -> int:
    _write_visible(traceback.format_exc().rstrip("\n"))
    write_stderr(_BUG_MESSAGE)
    return _BUG


def _format(error: click.ClickException) -> str:
    """Return the message that click would write."""
    stream = StringIO()
    error.show(stream)
    return stream.getvalue().removesuffix("\n")


def _write_visible(text: str) -> None:
    """Write text to stderr that may contain anything, such as a file name or a token."""
    write_stderr("\n".join(map(visible_message, text.split("\n"))))


def _open_missing_streams() -> None:
    """Replace the streams that a shell has closed (`<&-`, `>&-`, `2>&-`), which Python sets to None."""
    sys.stdin = sys.stdin or Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 - open until Python exits
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - likewise
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - likewise


def _buffer_stdout() -> None:
    """Buffer stdout even if PYTHONUNBUFFERED is set.

    Unbuffered, Python drops without an error what a pipe or a full disk does not accept at once.
    """
    if isinstance(getattr(sys.stdout, "buffer", None), RawIOBase):
        # Closed when Python exits; the file descriptor belongs to the stream that is replaced.
        sys.stdout = open(  # noqa: SIM115
            sys.stdout.fileno(), "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors, closefd=False
        )


def _escape_unsupported_characters() -> None:
    """Escape characters that the encoding of the terminal lacks."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
