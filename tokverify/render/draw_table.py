"""Draw a document for a terminal: the `table` format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from tokverify.render.alignment import alignment_table
from tokverify.render.document import (
    Alignment,
    Block,
    Bullets,
    Code,
    CommandLine,
    Details,
    Document,
    Fields,
    Heading,
    Inline,
    Items,
    Names,
    Paragraph,
    Section,
    Style,
    Table,
    for_format,
    spans,
    verdict_style,
)
from tokverify.render.layout import DIM, LABEL, Columns, Pasteable, bulleted, draw, labeled, words
from tokverify.render.options import RenderOptions
from tokverify.text.wording import list_items, plural

STYLES: Mapping[Style, str] = {
    Style.PLAIN: "",
    Style.STRONG: "bold",
    Style.DIM: "dim",
    Style.GOOD: "bold green",
    Style.BAD: "bold red",
    Style.WARNING: "bold yellow",
    Style.NOTICE: "yellow",
    Style.CAVEAT: "yellow",
    Style.ACTUAL: "red",
    Style.EXPECTED: "green",
}
"""Style -> how rich shows it."""

_INDENT = 2


def draw_table(document: Document, options: RenderOptions) -> str:
    """Draw a document; the last line is the verdict; only the causes precede it in quiet output."""
    verdict = draw([words(document.verdict, STYLES[verdict_style(document)])], options)
    if options.quiet:
        return "".join([*(draw([words(cause)], options) for cause in document.causes), verdict])
    body = draw_sections(document.sections, options)
    return "\n".join(part for part in (body, verdict) if part)


def draw_sections(sections: Iterable[Section], options: RenderOptions) -> str:
    """Draw sections without a verdict."""
    drawn = [Group(*parts) for parts in map(_draw_section, sections) if parts]
    return draw(drawn, options) if drawn else ""


def to_text(inline: Inline) -> Text:
    """Return an inline text as rich shows it."""
    parts = [(span.text, STYLES[span.style]) for span in spans(inline)]
    if len(parts) == 1:
        # The style of the whole also applies to the spaces with which a cell is filled.
        return Text(*parts[0], overflow="fold")
    return Text.assemble(*parts, overflow="fold")


def _draw_section(section: Section) -> list[RenderableType]:
    """Return the parts of a section; none if it has nothing to show in this format."""
    parts = list(_draw_blocks(section.blocks, _INDENT if section.heading else 0))
    if not section.heading or not parts:
        return parts
    if isinstance(section.heading, str):
        return [Text(section.heading.upper(), STYLES[section.style]), *parts]
    return [to_text(section.heading), *parts]


def _draw_blocks(blocks: Iterable[Block], indent: int) -> Iterator[RenderableType]:
    for block in for_format(blocks, "table"):
        yield from _DRAWERS[type(block)](block, indent)


def _draw_command(block: CommandLine, indent: int) -> Iterator[RenderableType]:
    lead = Text.assemble(" " * indent, (f"{block.command.label}:", LABEL), " ")
    yield Pasteable(lead, block.command)


def _draw_alignment(block: Alignment, indent: int) -> Iterator[RenderableType]:
    drawn = alignment_table(block.difference, block.other, fold=block.fold)
    yield Padding(drawn, (1, 0, 0, indent))


def _draw_details(block: Details, indent: int) -> Iterator[RenderableType]:
    yield _shift(to_text(block.title), indent)
    yield from _draw_blocks(block.blocks, indent + _INDENT)


def _draw_items(block: Items, indent: int) -> Iterator[RenderableType]:
    for number, item in enumerate(block.items, 1):
        label = str(number) if block.numbered else ""
        first, *others = map(to_text, item.lines)
        if block.numbered:
            yield labeled([(label, first), *(("", line) for line in others)], indent=indent)
        else:
            yield labeled([("", first)], indent=indent)
            yield from (labeled([("", line)], indent=indent + _INDENT) for line in others)
        margin = " " * (indent + len(f"{label}  "))
        yield from (Pasteable(Text(f"{margin}{command.label}: "), command) for command in item.commands)
    if block.note:
        yield labeled([(" " if block.items else "", to_text(block.note))], indent=indent)


def _draw_names(block: Names, indent: int) -> Iterator[RenderableType]:
    label = (f"{block.label.upper()} ", STYLES[Style.WARNING])
    yield _shift(Text.assemble(label, words(block.reason), overflow="fold"), indent)
    names = list_items(block.names) if block.fold else ", ".join(block.names)
    yield labeled([(plural(len(block.names), "case"), words(names))], indent=indent + _INDENT)


def _draw_rows(block: Table, indent: int) -> Iterator[RenderableType]:
    shown = Columns(*((column.heading, "right" if column.is_number else "left") for column in block.columns))
    for row in block.rows:
        shown.add_row(*map(to_text, row))
    yield _shift(shown, indent)
    if block.left_out:
        yield _shift(Text(f"... {block.left_out} ...", DIM), indent)


def _shift(drawn: RenderableType, indent: int) -> RenderableType:
    return Padding(drawn, (0, 0, 0, indent)) if indent else drawn


_DRAWERS: Mapping[type, Callable[[Any, int], Iterable[RenderableType]]] = {
    Paragraph: lambda block, indent: [_shift(to_text(block.text), indent)],
    Heading: lambda block, indent: [_shift(Text(block.text.upper(), STYLES[Style.STRONG]), indent)],
    Bullets: lambda block, indent: [_shift(bulleted(map(to_text, block.items)), indent)],
    Items: _draw_items,
    Fields: lambda block, indent: [labeled([(label, to_text(line)) for label, line in block.lines], indent=indent)],
    Table: _draw_rows,
    CommandLine: _draw_command,
    Alignment: _draw_alignment,
    Code: lambda block, indent: [_shift(Text(line, overflow="fold"), indent) for line in block.lines],
    Names: _draw_names,
    Details: _draw_details,
}
"""Type of a block -> the function that draws it, shifted to the right by so many columns."""
