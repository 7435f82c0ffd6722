"""Options under the names they had in the previous version, so that existing scripts keep working."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tokverify.commands.cli.stream import write_stderr

RENAMED: Mapping[str, Mapping[str, str]] = {
    "corpus verify": {
        "--add-special": "--bos-eos",
        "--ids": "--ids-column",
        "--no-add-special": "--no-bos-eos",
        "--text": "--text-column",
    },
    "conformance": {"--engine": "--reference"},
    "convert": {"--count": "--texts", "--bos": "--bos-token", "--eos": "--eos-token"},
    "diff": {"--corpus": "--lines"},
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
