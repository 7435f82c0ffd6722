"""Generate the page `commands.md` from the help of the commands while the site is built."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

import click
from mkdocs.structure.files import File

from tokverify.commands.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

PAGE = "commands.md"

_INTRODUCTION = """\
# Commands

This page is generated from `tokverify COMMAND --help`. Options may come before or after the arguments, and `-h` works
for every command. See [the exit codes](verdicts.md#exit-codes).

For shell completion, put `eval "$(_TOKVERIFY_COMPLETE=bash_source tokverify)"` into `.bashrc`, or the same line with
`zsh_source` into `.zshrc`. For fish, use `_TOKVERIFY_COMPLETE=fish_source tokverify | source`.
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page to those that MkDocs found."""
    files.append(File.generated(config, PAGE, content=page(main)))
    return files


def page(group: click.Group) -> str:
    """Return a reference of all commands of a group, as Markdown."""
    context = click.Context(group, info_name="tokverify")
    return "\n".join([_INTRODUCTION, *_describe_subcommands(group, context, level=2)])


def _describe_subcommands(group: click.Group, context: click.Context, level: int) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        own = click.Context(command, info_name=name, parent=context)
        yield f"{'#' * level} tokverify {own.command_path.partition(' ')[2]}\n"
        yield _describe_command(command, own)
        if isinstance(command, click.Group):
            yield from _describe_subcommands(command, own, level + 1)


def _describe_command(command: click.Command, context: click.Context) -> str:
    usage = " ".join(command.collect_usage_pieces(context))
    parts = [f"```text\n{context.command_path} {usage}\n```", _to_markdown(inspect.cleandoc(command.help or ""))]
    # Every command has `--help`, so only the introduction mentions it.
    options = (param.get_help_record(context) for param in command.params if isinstance(param, click.Option))
    parts += [f"`{names}`\n:   {_to_markdown(text)}" for names, text in filter(None, options)]
    if command.epilog:
        parts.append(_to_markdown(inspect.cleandoc(command.epilog)))
    return "".join(f"{part}\n\n" for part in parts)


def _to_markdown(text: str) -> str:
    """Escape a help text so that Markdown shows it unchanged, except for code between backticks."""
    paragraphs = (_escape_paragraph(paragraph) for paragraph in text.split("\n\n"))
    return "\n\n".join(paragraphs)


def _escape_paragraph(text: str) -> str:
    # click's marker for a paragraph whose line breaks are kept.
    if text.startswith("\b\n"):
        return f"```text\n{text[2:]}\n```"
    outside_code = re.split(r"(`[^`]+`)", text)
    return "".join(
        part if index % 2 else re.sub(r"([\\*_<>\[\]|#])", r"\\\1", part) for index, part in enumerate(outside_code)
    )
