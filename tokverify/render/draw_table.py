"""Draw a document for a terminal: the `table` format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from tokverify.render.alignment_table import alignment_table
from tokverify.render.document import (
    VERDICT_STYLES,
    Alignment,
    Bullets,
    Code,
    CommandLine,
    Details,
    Fields,
    Paragraph,
    Section,
    Style,
    Table,
    for_format,
    spans,
)
from tokverify.render.layout import LABEL, bulleted, draw, labeled, table, words
from tokverify.render.pasteable import Pasteable

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tokverify.render import RenderOptions
    from tokverify.render.column import Columns
    from tokverify.render.document import Block, Document, Inline

STYLES: Mapping[Style, str] = {
    Style.PLAIN: "",
    Style.STRONG: "bold",
    Style.DIM: "dim",
    Style.GOOD: "bold green",
    Style.BAD: "bold red",
    Style.WARNING: "bold yellow",
    Style.CAVEAT: "yellow",
    Style.ACTUAL: "red",
    Style.EXPECTED: "green",
}
"""Style -> how rich shows it."""

_INDENT = 2


def draw_table(document: Document, options: RenderOptions) -> str:
    """Draw a document; the last line is the verdict, and the only one if the user asked for quiet output."""
    sections = [] if options.quiet else map(_draw_section, document.sections)
    style = VERDICT_STYLES.get(document.exit_code, Style.WARNING)
    return draw([*sections, words(document.verdict, STYLES[style])], options)


def to_text(inline: Inline) -> Text:
    """Return an inline text as rich shows it."""
    parts = [(span.text, STYLES[span.style]) for span in spans(inline)]
    return Text.assemble(*parts, overflow="fold")


def _draw_section(section: Section) -> RenderableType:
    indent = _INDENT if section.heading else 0
    heading = [Text(section.heading.upper(), STYLES[section.style])] if section.heading else []
    return Group(*heading, *_draw_blocks(section.blocks, indent))


def _draw_blocks(blocks: Iterable[Block], indent: int) -> Iterator[RenderableType]:
    for block in for_format(blocks, "table"):
        yield from _draw_block(block, indent)


def _draw_block(block: Block, indent: int) -> Iterator[RenderableType]:
    match block:
        case Paragraph():
            yield _shift(to_text(block.text), indent)
        case Bullets():
            yield _shift(_draw_bullets(block), indent)
        case Fields():
            yield labeled(((label, to_text(line)) for label, line in block.lines), indent=indent)
        case Table():
            yield from _draw_rows(block, indent)
        case CommandLine():
            lead = Text.assemble(" " * indent, (f"{block.command.label}:", LABEL), " ")
            yield Pasteable(lead, block.command)
        case Alignment():
            drawn = alignment_table(block.difference, block.other, fold=block.fold)
            yield Padding(drawn, (1, 0, 0, indent))
        case Code():
            yield from (_shift(Text(line, overflow="fold"), indent) for line in block.lines)
        case Details():
            yield _shift(to_text(block.title), indent)
            yield from _draw_blocks(block.blocks, indent + _INDENT)


def _draw_bullets(block: Bullets) -> RenderableType:
    items = [to_text(item) for item in block.items]
    if block.numbered:
        return labeled((str(number), item) for number, item in enumerate(items, 1))
    return bulleted(items)


def _draw_rows(block: Table, indent: int) -> Iterator[RenderableType]:
    shown: Columns = table(*((column.heading, "right" if column.is_number else "left") for column in block.columns))
    for row in block.rows:
        shown.add_row(*map(to_text, row))
    yield _shift(shown, indent)
    if block.left_out:
        yield _shift(Text(f"... {block.left_out} ...", STYLES[Style.DIM]), indent)


def _shift(drawn: RenderableType, indent: int) -> RenderableType:
    return Padding(drawn, (0, 0, 0, indent)) if indent else drawn
