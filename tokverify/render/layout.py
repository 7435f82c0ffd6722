"""Building blocks of the `table` format.

subtle: rich interprets plain strings as markup, so that `[/INST]` raises and `[red]` vanishes; whatever is not a
constant must be a `Text`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import groupby

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from tokverify.render.document import shorten
from tokverify.render.options import RenderOptions
from tokverify.report.diagnosis import Command
from tokverify.text.visible import visible, visible_message

LABEL = "cyan"
DIM = "dim"
ACTUAL = "red"
EXPECTED = "green"
GAP = 2
_HEADING_STYLE = "bold"


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


def exact(text: str | bytes, style: str = "", *, empty: str = "") -> Text:
    """Show every character of a text or a piece; `empty` says what it means that there is none."""
    return Text(visible(text), style, overflow="fold") if text or not empty else Text(empty, DIM)


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


@dataclass
class _Column:
    """A column: its heading, its justification, and its cells from top to bottom."""

    heading: Text
    justify: JustifyMethod
    cells: list[RenderableType]


class Columns:
    """A table without rules that never breaks a word of a heading, however narrow the terminal is.

    A column is given by its heading and its justification. If the headings do not fit side by side, each gets a line
    of its own above its column.
    """

    def __init__(self, *columns: tuple[str, JustifyMethod]) -> None:
        self._columns = [_Column(Text(heading, _HEADING_STYLE), justify, []) for heading, justify in columns]

    def add_row(self, *cells: RenderableType) -> None:
        """Add a row; missing cells are empty."""
        for column, cell in zip(self._columns, [*cells, *[""] * len(self._columns)], strict=False):
            column.cells.append(cell)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the table in the available width."""
        room = options.max_width - self._gaps
        bodies, headings = self._measure(console, options)
        whole = list(map(_maximum, bodies, headings))
        widths = fit(whole, room, [heading.minimum for heading in headings])
        beside = sum(widths) <= room
        if not beside:
            widths = fit(bodies, room, [1] * len(bodies))
            yield from self._headings(widths, options.max_width)
        if beside and any(column.heading for column in self._columns):
            yield self._table([], widths, show_header=True)
        rows = zip(*(column.cells for column in self._columns), strict=True)
        drawn = ((row, self._line(row, widths)) for row in rows)
        for fits, group in groupby(drawn, key=lambda pair: pair[1] is not None):
            if fits:
                yield from (line for _, line in group if line is not None)
            else:
                yield self._table([row for row, _ in group], widths)

    @property
    def _gaps(self) -> int:
        return GAP * (len(self._columns) - 1)

    def _measure(self, console: Console, options: ConsoleOptions) -> tuple[list[Measurement], list[Measurement]]:
        """Measure the cells of each column, and its heading."""
        bodies = [_measure_cells(column.cells, console, options) for column in self._columns]
        return bodies, [_measure_cells([column.heading], console, options) for column in self._columns]

    def _headings(self, widths: Sequence[int], room: int) -> RenderResult:
        start = 0
        for column, width in zip(self._columns, widths, strict=True):
            size = column.heading.cell_len
            place = start + width - size if column.justify == "right" else start
            line = column.heading.copy()
            line.pad_left(max(0, min(place, room - size)))
            start += width + GAP
            if size:
                yield line

    def _line(self, row: Sequence[RenderableType], widths: Sequence[int]) -> Text | None:
        """Return a row of texts that all fit, several times as fast as a table draws it; None for any other row."""
        line = Text(no_wrap=True, overflow="ignore")
        gap = 0
        for cell, width, column in zip(row, widths, self._columns, strict=True):
            text = Text(cell) if isinstance(cell, str) else cell
            if not isinstance(text, Text) or "\n" in text.plain or "\t" in text.plain or text.cell_len > width:
                return None
            if column.justify == "right":
                text = text.copy()
                text.rstrip()
                text.pad_left(width - text.cell_len)
            line.append(" " * gap).append_text(text)
            gap = GAP + width - text.cell_len
        return line

    def _table(
        self, rows: Iterable[Sequence[RenderableType]], widths: Sequence[int], *, show_header: bool = False
    ) -> Table:
        drawn = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), show_header=show_header)
        for column, width in zip(self._columns, widths, strict=True):
            drawn.add_column(column.heading, justify=column.justify, overflow="fold", width=width)
        for row in rows:
            drawn.add_row(*row)
        return drawn


def fit(measured: Sequence[Measurement], room: int, least: Sequence[int]) -> list[int]:
    """Return the widths of columns: the widest shrink first, and below their longest words only if necessary.

    No column becomes narrower than its entry in `least`, even if there is no room for that.
    """
    widths = [max(low, min(column.maximum, room)) for column, low in zip(measured, least, strict=True)]
    for lowest in ([max(low, column.minimum) for column, low in zip(measured, least, strict=True)], least):
        while sum(widths) > room and (wide := [at for at, width in enumerate(widths) if width > lowest[at]]):
            # Of equal columns the last one, since the first one usually names the row.
            widths[max(wide, key=lambda at: (widths[at], at))] -= 1
    return widths


def _measure_cells(cells: Sequence[RenderableType], console: Console, options: ConsoleOptions) -> Measurement:
    unbounded = options.update(max_width=1 << 16)
    measured = [Measurement.get(console, unbounded, cell) for cell in cells]
    return Measurement(max((m.minimum for m in measured), default=0), max((m.maximum for m in measured), default=0))


def _maximum(first: Measurement, second: Measurement) -> Measurement:
    return Measurement(max(first.minimum, second.minimum), max(first.maximum, second.maximum))
