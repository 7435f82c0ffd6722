"""Writes the page `commands.md` while the site is built, from what the program itself says of its commands."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

import click
from mkdocs.structure.files import File

from tokverify.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

PAGE = "commands.md"

_INTRODUCTION = """\
# Commands

Made from the program itself: what `tokverify COMMAND --help` says. Options may stand before or after the arguments, and
`-h` works everywhere. What the exit codes mean: [design](design.md#exit-codes).
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page to those that MkDocs has found."""
    files.append(File.generated(config, PAGE, content=page(main)))
    return files


def page(group: click.Group) -> str:
    """Return the reference of all commands of a group, as Markdown."""
    context = click.Context(group, info_name="tokverify")
    return "\n".join([_INTRODUCTION, *_subcommands(group, context, level=2)])


def _subcommands(group: click.Group, context: click.Context, level: int) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None:
            continue
        own = click.Context(command, info_name=name, parent=context)
        yield f"{'#' * level} tokverify {own.command_path.partition(' ')[2]}\n"
        yield _body(command, own)
        if isinstance(command, click.Group):
            yield from _subcommands(command, own, level + 1)


def _body(command: click.Command, context: click.Context) -> str:
    usage = " ".join(command.collect_usage_pieces(context))
    parts = [f"```text\n{context.command_path} {usage}\n```", _markdown(inspect.cleandoc(command.help or ""))]
    # `--help` is on every command, and so is said once, above.
    options = (param.get_help_record(context) for param in command.params if isinstance(param, click.Option))
    parts += [f"`{names}`\n:   {_markdown(text)}" for names, text in filter(None, options)]
    if command.epilog:
        parts.append(_markdown(inspect.cleandoc(command.epilog)))
    return "".join(f"{part}\n\n" for part in parts)


def _markdown(text: str) -> str:
    """Return a help text such that Markdown shows it as it is, but for its code between backticks."""
    paragraphs = (_paragraph(paragraph) for paragraph in text.split("\n\n"))
    return "\n\n".join(paragraphs)


def _paragraph(text: str) -> str:
    # click's sign for a paragraph whose lines are to stay.
    if text.startswith("\b\n"):
        return f"```text\n{text[2:]}\n```"
    outside_code = re.split(r"(`[^`]+`)", text)
    return "".join(
        part if index % 2 else re.sub(r"([\\*_<>\[\]|#])", r"\\\1", part) for index, part in enumerate(outside_code)
    )
