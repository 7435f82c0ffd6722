"""A command line in a table, which can be pasted into a shell whatever the width of the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.text import Text

from tokverify.render.layout import draw
from tokverify.render.options import RenderOptions
from tokverify.report.diagnosis import Command
from tokverify.text.visible import visible_message

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
