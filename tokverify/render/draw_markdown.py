"""Draw a document as Markdown: the `markdown` format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby, pairwise
from typing import Any

from tokverify.render import markdown_text
from tokverify.render.case_text import alignment_lines
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
    Span,
    Style,
    Table,
    for_format,
    plain,
    spans,
)
from tokverify.render.markdown_text import escaped, mark
from tokverify.render.options import RenderOptions
from tokverify.report.diagnosis import Command, command_line
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

_STRONG = frozenset({Style.STRONG, Style.BAD, Style.WARNING, Style.CAVEAT})


def draw_markdown(document: Document, options: RenderOptions) -> str:
    """Draw a document, or as much of it as fits the limit: the title and the verdict first."""
    title = f"{mark(document.exit_code)} {to_markdown(document.title)}"
    return markdown_text.document(title, document.verdict, _draw_sections(document.sections), options)


def to_markdown(inline: Inline, *, in_cell: bool = False) -> str:
    """Return an inline text as Markdown; within a cell of a table, `|` is escaped."""
    drawn = ""
    shown = [span for span in spans(inline) if span.text or span.is_code]
    runs = [(kind, "".join(span.text for span in run)) for kind, run in groupby(shown, key=_kind)]
    for (kind, text), (next_kind, following) in pairwise([*runs, ("", "")]):
        if kind == "code":
            drawn += markdown_text.cell_code(text) if in_cell else markdown_text.code(text)
        elif kind == "strong":
            drawn += markdown_text.strong(text, drawn[-1:], "`" if next_kind == "code" else following[:1])
        else:
            drawn += escaped(text)
    return drawn


def _kind(span: Span) -> str:
    """Tell what a span becomes; neighbors of one kind become one, as their delimiters would merge."""
    if span.is_code:
        return "code"
    return "strong" if span.style in _STRONG else "plain"


def _draw_sections(sections: Iterable[Section]) -> Iterator[str]:
    for section in sections:
        blocks = list(map(_draw_block, for_format(section.blocks, "markdown")))
        if section.heading and blocks:
            # A heading needs no emphasis.
            yield f"### {escaped(plain(section.heading))}\n"
        yield from blocks


def _draw_block(block: Block) -> str:
    return _DRAWERS[type(block)](block)


def _command(command: Command) -> str:
    return f"{command.label}: {markdown_text.code(visible_message(command_line(command)))}"


def _draw_items(block: Items) -> str:
    marks = [f"{number}." if block.numbered else "-" for number in range(1, len(block.items) + 1)]
    separator = "; " if block.numbered else "<br>"
    drawn = [separator.join([*map(to_markdown, item.lines), *map(_command, item.commands)]) for item in block.items]
    items = "".join(f"{mark} {item}\n" for mark, item in zip(marks, drawn, strict=True))
    if not block.note:
        return items
    note = f"{to_markdown(block.note)}\n"
    return f"{items}\n{note}" if items else note


def _draw_names(block: Names) -> str:
    reason = f": {visible_message(block.reason)}" if block.reason else ""
    title = f"{block.label.capitalize()}, {plural(len(block.names), 'case')}{reason}"
    return markdown_text.details(title, markdown_text.block(map(visible_message, block.names)))


def _draw_details(block: Details) -> str:
    """Draw details; lines in which every character counts become one block of code."""
    title = plain(block.title) + (f": {plain(block.hint)}" if block.hint else "")
    blocks = for_format(block.blocks, "markdown")
    if all(isinstance(inner, Fields | Alignment | Code) for inner in blocks):
        body = markdown_text.block(_code_lines(blocks), "diff")
    else:
        body = "\n".join(map(_draw_block, blocks))
    return markdown_text.details(title, body)


def _code_lines(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Fields):
            yield from (f"{label}: {plain(line)}" if label else f"  {plain(line)}" for label, line in block.lines)
        elif isinstance(block, Alignment):
            yield from alignment_lines(block.difference, block.other, fold=block.fold)
        elif isinstance(block, Code):
            yield from block.lines


def _draw_fields(block: Fields) -> str:
    """Draw a table of two columns; further lines of a label are lines of its cell."""
    rows: list[tuple[str, list[str]]] = []
    for label, line in block.lines:
        if label or not rows:
            rows.append((label, []))
        rows[-1][1].append(to_markdown(line, in_cell=True))
    return markdown_text.table(("", ""), [(escaped(label), "<br>".join(lines)) for label, lines in rows])


def _draw_table(block: Table) -> str:
    head = [escaped(column.heading) for column in block.columns]
    numbers = [index for index, column in enumerate(block.columns) if column.is_number]
    rows = [[to_markdown(cell, in_cell=True) for cell in row] for row in block.rows]
    drawn = markdown_text.table(head, rows, numbers)
    return f"{drawn}\n{block.left_out}\n" if block.left_out else drawn


_DRAWERS: Mapping[type, Callable[[Any], str]] = {
    Paragraph: lambda block: f"{to_markdown(block.text)}\n",
    Heading: lambda block: f"### {escaped(block.text)}\n",
    Bullets: lambda block: "".join(f"- {to_markdown(item)}\n" for item in block.items),
    Items: _draw_items,
    Fields: _draw_fields,
    Table: _draw_table,
    CommandLine: lambda block: f"{_command(block.command)}\n",
    Alignment: lambda block: markdown_text.block(_code_lines([block]), "diff"),
    Code: lambda block: markdown_text.block(block.lines, block.language),
    Names: _draw_names,
    Details: _draw_details,
}
"""Type of a block -> the function that draws it; the text ends in a line feed."""
