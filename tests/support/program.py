"""Look at the commands of the program itself, as click knows them."""

from collections.abc import Iterator

import click

from tokverify.commands.cli import main


def list_commands(group: click.Group = main, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield all commands that are not groups, by their full names, such as `cases list`."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from list_commands(command, f"{prefix}{name} ")
        elif command:
            yield f"{prefix}{name}", command
