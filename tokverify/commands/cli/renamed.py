"""Commands and options under the names of the previous version, so that existing scripts keep working."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

import click

from tokverify.commands.cli.stream import write_stderr

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
