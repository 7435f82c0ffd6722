"""Read what a document says, whatever a format makes of it."""

from collections.abc import Iterator

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
    Table,
    for_format,
    spans,
)
from tokverify.report.diagnosis import command_line
from tokverify.text.visible import visible, visible_message


def texts_of(document: Document, format: str) -> Iterator[str]:
    """Yield every text that a format has to show."""
    for section in document.sections:
        blocks = for_format(section.blocks, format)
        if blocks:
            yield from _inline(section.heading)
        for block in blocks:
            yield from _block(block, format)


def _inline(inline: Inline) -> Iterator[str]:
    yield from (span.text for span in spans(inline))


def _block(block: Block, format: str) -> Iterator[str]:  # noqa: C901, PLR0912 - one case for each type
    match block:
        case Paragraph():
            yield from _inline(block.text)
        case Heading():
            yield block.text
        case Bullets():
            for item in block.items:
                yield from _inline(item)
        case Items():
            for item in block.items:
                for line in item.lines:
                    yield from _inline(line)
                yield from (visible_message(command_line(command)) for command in item.commands)
            yield from _inline(block.note)
        case Fields():
            for label, line in block.lines:
                yield label
                yield from _inline(line)
        case Table():
            yield from (column.heading for column in block.columns)
            for row in block.rows[: 1000 if format == "html" else None]:
                for cell in row:
                    yield from _inline(cell)
        case CommandLine():
            yield visible_message(command_line(block.command))
        case Alignment():
            for part in block.difference.blocks:
                for token in (*part.actual[:100], *part.expected[:100]):
                    yield visible(token.piece)
        case Code():
            yield from block.lines
        case Names():
            yield from map(visible_message, (block.reason, *block.names))
        case Details():
            yield from _inline(block.title)
            yield from _inline(block.hint)
            for inner in for_format(block.blocks, format):
                yield from _block(inner, format)
