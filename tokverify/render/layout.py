"""Building blocks of the `table` format.

subtle: rich interprets plain strings as markup, so that `[/INST]` raises and `[red]` vanishes; whatever is not a
constant must be a `Text`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from tokverify.render.column import Columns
from tokverify.render.document import shorten
from tokverify.render.options import RenderOptions
from tokverify.report.diagnosis import Command
from tokverify.text.visible import visible, visible_message

LABEL = "cyan"
DIM = "dim"
ACTUAL = "red"
EXPECTED = "green"


def draw(sections: Iterable[RenderableType], options: RenderOptions) -> str:
    """Write sections below each other, separated by blank lines."""
    file = StringIO()
    console = Console(
        file=file,
        width=options.width,
        color_system="standard" if options.color else None,
        force_terminal=options.color,
        no_color=not options.color,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
        legacy_windows=False,
    )
    for index, section in enumerate(sections):
        if index:
            console.print()
        # Only a command is ever wider than the terminal, as it must not be broken within an argument.
        console.print(section, overflow="fold", crop=False)
    # subtle: not splitlines(), which also breaks at characters that are not line feeds.
    return "".join(f"{line.rstrip(' ')}\n" for line in file.getvalue().removesuffix("\n").split("\n"))


def words(text: str, style: str = "") -> Text:
    """Show a name or a message; texts in it were escaped when it was written (see `tokverify.text.visible`)."""
    return Text(visible_message(text), style, overflow="fold")


def exact(text: str | bytes, style: str = "") -> Text:
    """Show every character of a text or a piece."""
    return Text(visible(text), style, overflow="fold")


def exact_or_folded(text: str | bytes, *, fold: bool) -> Text:
    """Show a text; with `fold`, the middle of a very long one is replaced by its length."""
    if not fold:
        return exact(text)
    return Text.assemble(*((span.text, "" if span.is_code else DIM) for span in shorten(text)), overflow="fold")


def labeled(lines: Iterable[tuple[str, Text]], *, indent: int = 0) -> Table:
    """Put labels in front of lines; an empty label continues the one above."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style=LABEL, no_wrap=True)
    grid.add_column(overflow="fold", ratio=1)
    for label, line in lines:
        grid.add_row(" " * indent + label, line)
    return grid


def bulleted(lines: Iterable[Text]) -> Table:
    """Put a dash in front of each text, and indent its further lines."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold", ratio=1)
    for line in lines:
        grid.add_row(Text("-", line.style), line)
    return grid


def table(*columns: tuple[str, JustifyMethod]) -> Columns:
    """Make a table without rules; a column is its heading and its justification."""
    return Columns(columns)


_MORE = " \\"


@dataclass(frozen=True, slots=True)
class Pasteable:
    """A command, continued on lines as a shell joins them, and never broken within an argument."""

    lead: Text
    command: Command

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        indent = self.lead.cell_len
        yield from self.lead.render(console)
        lines = _break_lines(self.command.arguments, options.max_width - indent)
        yield Segment(f"{_MORE}\n{' ' * indent}".join(lines) + "\n")


def draw_command(arguments: Sequence[str], options: RenderOptions) -> str:
    """Draw a command after a prompt, as in a session."""
    return draw([Pasteable(Text("$ "), Command("", tuple(arguments)))], options)


def _break_lines(arguments: Sequence[str], room: int) -> Iterator[str]:
    """Yield the lines of a command, each as long as possible with the mark that another one follows."""
    line, *others = map(visible_message, arguments or [""])
    for index, argument in enumerate(others, 1):
        longer = f"{line} {argument}"
        if cell_len(longer if index == len(others) else longer + _MORE) <= room:
            line = longer
        else:
            yield line
            line = argument
    yield line
