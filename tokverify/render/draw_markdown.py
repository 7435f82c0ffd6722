"""Draw a document as Markdown, in the dialects of GitHub and GitLab: the `markdown` format."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape as html_escape
from itertools import chain, groupby, pairwise
from string import punctuation
from typing import Any

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
from tokverify.render.options import RenderOptions
from tokverify.report.diagnosis import Command, command_line
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

_SPECIAL = re.compile(r"[\\`*_\[\]<>|~&#$@]|(?<=www)\.|:(?=/)")
_BACKTICKS = re.compile("`+")
_MIN_FENCE = 3
_MARKS = {0: "✅", 1: "❌"}
_LEFT_OUT = "And {:,} more parts that do not fit here; write the report to a file to read them.\n"
_STRONG = frozenset({Style.STRONG, Style.BAD, Style.WARNING, Style.CAVEAT})


def draw_markdown(document: Document, options: RenderOptions) -> str:
    """Draw a document, or as much of it as fits the limit: the title and the verdict first."""
    title = f"## {_MARKS.get(document.exit_code, '⚠️')} {to_markdown(document.title)}\n"
    top = [title, f"{strong(visible_message(document.verdict))}\n"]
    return _join(top if options.quiet else chain(top, _draw_sections(document.sections)), options.limit)


def to_markdown(inline: Inline, *, in_cell: bool = False) -> str:
    """Return an inline text as Markdown; within a cell of a table, `|` is escaped."""
    drawn = ""
    shown = [span for span in spans(inline) if span.text or span.is_code]
    runs = [(kind, "".join(span.text for span in run)) for kind, run in groupby(shown, key=_kind)]
    for (kind, text), (next_kind, following) in pairwise([*runs, ("", "")]):
        if kind == "code":
            drawn += cell_code(text) if in_cell else code(text)
        elif kind == "strong":
            drawn += strong(text, drawn[-1:], "`" if next_kind == "code" else following[:1])
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
    return f"{command.label}: {code(visible_message(command_line(command)))}"


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
    return details(title, code_block(map(visible_message, block.names)))


def _draw_details(block: Details) -> str:
    """Draw details; lines in which every character counts become one block of code."""
    title = plain(block.title) + (f": {plain(block.hint)}" if block.hint else "")
    blocks = for_format(block.blocks, "markdown")
    if all(isinstance(inner, Fields | Alignment | Code) for inner in blocks):
        body = code_block(_code_lines(blocks), "diff")
    else:
        body = "\n".join(map(_draw_block, blocks))
    return details(title, body)


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
    return table(("", ""), [(escaped(label), "<br>".join(lines)) for label, lines in rows])


def _draw_table(block: Table) -> str:
    head = [escaped(column.heading) for column in block.columns]
    numbers = [index for index, column in enumerate(block.columns) if column.is_number]
    rows = [[to_markdown(cell, in_cell=True) for cell in row] for row in block.rows]
    drawn = table(head, rows, numbers)
    return f"{drawn}\n{block.left_out}\n" if block.left_out else drawn


_DRAWERS: Mapping[type, Callable[[Any], str]] = {
    Paragraph: lambda block: f"{to_markdown(block.text)}\n",
    Heading: lambda block: f"### {escaped(block.text)}\n",
    Bullets: lambda block: "".join(f"- {to_markdown(item)}\n" for item in block.items),
    Items: _draw_items,
    Fields: _draw_fields,
    Table: _draw_table,
    CommandLine: lambda block: f"{_command(block.command)}\n",
    Alignment: lambda block: code_block(_code_lines([block]), "diff"),
    Code: lambda block: code_block(block.lines, block.language),
    Names: _draw_names,
    Details: _draw_details,
}
"""Type of a block -> the function that draws it; the text ends in a line feed."""


def _join(sections: Iterable[str], limit: int | None) -> str:
    """Join sections; if they exceed a limit in bytes, join the first ones and note how many are left out.

    The result is empty if there is no room even for this note.
    """
    sections = list(sections)
    text = "\n".join(sections)
    if limit is None or len(text.encode()) <= limit:
        return text
    room = limit - len(_LEFT_OUT.format(len(sections)))
    if room < 0:
        return ""
    kept = 0
    for section in sections:
        room -= len(section.encode()) + 1
        if room < 0:
            break
        kept += 1
    return "\n".join([*sections[:kept], _LEFT_OUT.format(len(sections) - kept)])


def escaped(shown: str) -> str:
    """Write a text that has passed `visible`."""
    return _SPECIAL.sub(r"\\\g<0>", shown)


def strong(shown: str, before: str = "", after: str = "") -> str:
    """Write a text that has passed `visible` in bold, between two characters of the text around it.

    subtle: asterisks beside a space, or between punctuation and a letter, delimit nothing and would be shown; such a
    text stays plain.
    """
    bare = shown.strip(" ")
    start, end = shown[: len(shown) - len(shown.lstrip(" "))], shown[len(shown.rstrip(" ")) :]
    opens = start or bare[:1].isalnum() or _is_edge(before)
    closes = end or bare[-1:].isalnum() or _is_edge(after)
    if not (bare and bare == bare.strip() and opens and closes):
        return escaped(shown)
    return f"{start}**{escaped(bare)}**{end}"


def _is_edge(character: str) -> bool:
    """Check whether asterisks beside a character delimit emphasis, whatever is on their other side."""
    return character in {"", " ", *punctuation}


def code(shown: str) -> str:
    """Write a text that has passed `visible` as code within a line."""
    if not shown:
        return "(nothing)"
    ticks = "`" * (_longest_run(shown) + 1)
    # Markdown removes one space at both ends; without them, backticks of the text would join the delimiters.
    pad = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"


def cell_code(shown: str) -> str:
    """Write a text that has passed `visible` as code within a table."""
    return code(shown).replace("|", "\\|")


def code_block(lines: Iterable[str], language: str = "text") -> str:
    """Write lines that have passed `visible` as a block of code."""
    body = "".join(f"{line}\n" for line in lines)
    fence = "`" * max(_MIN_FENCE, _longest_run(body) + 1)
    return f"{fence}{language}\n{body}{fence}\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    """Write a table of cells that are Markdown already; columns in `right` are right-justified."""
    right = set(right)
    rule = ["--:" if column in right else "---" for column in range(len(head))]
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, rule, *rows))


def details(summary: str, body: str) -> str:
    """Write a body that opens on a click; `summary` has passed `visible`."""
    return f"<details><summary>{html_escape(summary)}</summary>\n\n{body}\n</details>\n"


def _longest_run(text: str) -> int:
    return max((len(found) for found in _BACKTICKS.findall(text)), default=0)
