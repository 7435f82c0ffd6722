"""Draw a document as Markdown: the `markdown` format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tokverify.render import markdown_text
from tokverify.render.case_text import alignment_lines
from tokverify.render.document import (
    Alignment,
    Bullets,
    Code,
    CommandLine,
    Details,
    Fields,
    Paragraph,
    Style,
    Table,
    for_format,
    spans,
)
from tokverify.render.markdown_text import escaped, mark
from tokverify.text.visible import visible_message

if TYPE_CHECKING:
    from tokverify.render import RenderOptions
    from tokverify.render.document import Block, Document, Inline, Section, Span

_STRONG = frozenset({Style.STRONG, Style.BAD, Style.WARNING, Style.CAVEAT})


def draw_markdown(document: Document, options: RenderOptions) -> str:
    """Draw a document, or as much of it as fits the limit: the title and the verdict first."""
    title = f"{mark(document.exit_code)} {to_markdown(document.title)}"
    return markdown_text.document(title, document.verdict, _draw_sections(document.sections), options)


def to_markdown(inline: Inline, *, in_cell: bool = False) -> str:
    """Return an inline text as Markdown; within a cell of a table, `|` is escaped."""
    return "".join(_draw_span(span, in_cell=in_cell) for span in spans(inline))


def _draw_span(span: Span, *, in_cell: bool) -> str:
    if span.is_code:
        return markdown_text.cell_code(span.text) if in_cell else markdown_text.code(span.text)
    text = escaped(span.text)
    return f"**{text}**" if span.style in _STRONG and text else text


def _draw_sections(sections: Iterable[Section]) -> Iterator[str]:
    for section in sections:
        blocks = list(_draw_blocks(section.blocks))
        if section.heading and blocks:
            yield f"### {section.heading}\n"
        yield from blocks


def _draw_blocks(blocks: Iterable[Block]) -> Iterator[str]:
    """Draw blocks; each ends in a line feed, and an empty line goes between two."""
    for block in for_format(blocks, "markdown"):
        yield _draw_block(block)


def _draw_block(block: Block) -> str:  # noqa: PLR0911 - one case for each block
    match block:
        case Paragraph():
            return f"{to_markdown(block.text)}\n"
        case Bullets():
            return _draw_bullets(block)
        case Fields():
            return _draw_fields(block)
        case Table():
            return _draw_table(block)
        case CommandLine():
            return f"{block.command.label}: {markdown_text.code(_command_text(block))}\n"
        case Alignment():
            lines = alignment_lines(block.difference, block.other, fold=block.fold)
            return markdown_text.block(lines, "diff")
        case Code():
            return markdown_text.block(block.lines, block.language)
        case Details():
            title = "".join(span.text for span in spans(block.title))
            return markdown_text.details(title, "\n".join(_draw_blocks(block.blocks)))
    raise TypeError(f"no block of a document: {block}")


def _command_text(block: CommandLine) -> str:
    return visible_message(str(block.command))


def _draw_bullets(block: Bullets) -> str:
    marks = [f"{number}." if block.numbered else "-" for number in range(1, len(block.items) + 1)]
    return "".join(f"{mark} {to_markdown(item)}\n" for mark, item in zip(marks, block.items, strict=True))


def _draw_fields(block: Fields) -> str:
    """Draw a table of two columns; further lines of a label are lines of its cell."""
    rows: list[tuple[str, list[str]]] = []
    for label, line in block.lines:
        if label or not rows:
            rows.append((label, []))
        rows[-1][1].append(to_markdown(line, in_cell=True))
    return markdown_text.table(("", ""), [(label, "<br>".join(lines)) for label, lines in rows])


def _draw_table(block: Table) -> str:
    head = [column.heading for column in block.columns]
    numbers = [index for index, column in enumerate(block.columns) if column.is_number]
    rows = [[to_markdown(cell, in_cell=True) for cell in row] for row in block.rows]
    drawn = markdown_text.table(head, rows, numbers)
    return f"{drawn}\n{block.left_out}\n" if block.left_out else drawn
