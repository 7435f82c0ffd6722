"""The document model: what a report says to a person, described once and drawn by `table`, `markdown` and `html`.

A kind of report describes itself as a `Document`, which `tokverify.render.draw_table`, `draw_markdown` and `draw_html`
draw. Texts enter through `message` or `exact`, which escape them once; a plain string in an inline text must be a
constant or a number.

Blocks are named tuples, which take a seventh of the time of dataclasses to define. Two of different classes can be
equal, so they are never compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, TypeAlias

from tokverify.report.diagnosis import Command
from tokverify.report.difference import Difference
from tokverify.report.finding import Severity
from tokverify.text.visible import visible, visible_message

_MAX_TEXT = 1000
_HEAD, _TAIL = 400, 100


class Style(Enum):
    """The meaning of a text, which each format shows in its own way."""

    PLAIN = "plain"
    STRONG = "strong"
    DIM = "dim"
    """Of little interest."""
    GOOD = "good"
    BAD = "bad"
    WARNING = "warning"
    NOTICE = "notice"
    """Worth a look."""
    CAVEAT = "caveat"
    """Limits what the rest of the report means."""
    ACTUAL = "actual"
    EXPECTED = "expected"


class Span(NamedTuple):
    """A piece of an inline text."""

    text: str
    """The text; it has passed `visible` or `visible_message`."""
    style: Style = Style.PLAIN
    is_code: bool = False
    """Whether every character counts, as in a token or a path."""
    share: float | None = None
    """How full a bar before the text is, from 0 to 1; only `html` draws it. None for no bar."""


Inline: TypeAlias = "str | Span | Sequence[str | Span]"
"""A text within a line: spans, and strings that need no escaping."""

Line: TypeAlias = tuple[str, Inline]
"""A label, which has passed `visible`, and its text; an empty label continues the one above."""


def message(text: str, style: Style = Style.PLAIN) -> Span:
    """Show a name or a sentence; texts that it quotes were escaped when it was written."""
    return Span(visible_message(text), style)


def exact(text: str | bytes, style: Style = Style.PLAIN) -> Span:
    """Show every character of a text or a piece."""
    return Span(visible(text), style, is_code=True)


def code(text: str, style: Style = Style.PLAIN) -> Span:
    """Show a name that people copy, such as a path or a command."""
    return Span(visible_message(text), style, is_code=True)


def bar(text: str, part: float, whole: float, style: Style = Style.BAD) -> Span:
    """Show a number after a bar that is full if `part` is `whole`."""
    return Span(visible_message(text), style, share=part / whole if whole else 0.0)


def tally(number: int, style: Style) -> Span:
    """Show how many there are; none is of no interest."""
    return Span(f"{number:,}", style) if number else Span("-", Style.DIM)


def with_code(text: str) -> list[Span]:
    """Show sentences of a manual, in which names stand between backticks."""
    return [Span(visible_message(part), is_code=index % 2 == 1) for index, part in enumerate(text.split("`")) if part]


def shorten(text: str | bytes) -> list[Span]:
    """Show a text; the middle of a very long one is replaced by its length."""
    left_out = len(text) - _HEAD - _TAIL
    if len(text) <= _MAX_TEXT:
        return [exact(text)]
    unit = "bytes" if isinstance(text, bytes) else "characters"
    return [exact(text[:_HEAD]), Span(f" ... {left_out:,} {unit} ... ", Style.DIM), exact(text[-_TAIL:])]


def label_lines(label: str, texts: Iterable[Inline]) -> Iterator[Line]:
    """Put a label in front of texts that belong together, each on a line of its own."""
    return (("" if index else label, text) for index, text in enumerate(texts))


def plain(inline: Inline) -> str:
    """Return an inline text without styles."""
    return "".join(span.text for span in spans(inline))


def spans(inline: Inline) -> list[Span]:
    """Return an inline text as spans."""
    # subtle: a span is a sequence, too.
    parts = [inline] if isinstance(inline, str | Span) else inline
    return [Span(part) if isinstance(part, str) else part for part in parts]


class Paragraph(NamedTuple):
    """Sentences."""

    text: Inline


class Heading(NamedTuple):
    """A heading within a section."""

    text: str


class Bullets(NamedTuple):
    """A list of items."""

    items: Sequence[Inline]


class Item(NamedTuple):
    """An item of a list; its further lines continue the first one."""

    lines: Sequence[Inline]
    commands: Sequence[Command] = ()
    """Commands that can be pasted into a shell, below the lines."""


class Items(NamedTuple):
    """A list of items that have several lines each."""

    items: Sequence[Item]
    note: Inline = ()
    """A remark below the items."""
    numbered: bool = True


class Fields(NamedTuple):
    """Labels with lines of text; a label may have several lines."""

    lines: Sequence[Line]


class Column(NamedTuple):
    """A column of a table."""

    heading: str
    """The heading; it has passed `visible`."""
    is_number: bool = False
    """Whether the cells are justified at the right."""


class Table(NamedTuple):
    """Rows of cells below headings."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Inline]]
    left_out: str = ""
    """What is not shown, such as `12 more, shown with -v`."""


class CommandLine(NamedTuple):
    """A command that can be pasted into a shell, however narrow the terminal is."""

    command: Command


class Alignment(NamedTuple):
    """Two aligned tokenizations."""

    difference: Difference
    other: str
    """The name of the side opposite `actual`."""
    fold: bool
    """Whether long stretches without a difference are left out."""


class Code(NamedTuple):
    """Lines in which every character counts; they have passed `visible`."""

    lines: Sequence[str]
    language: str = "text"


class Names(NamedTuple):
    """Cases that share an outcome and the reason for it, by name."""

    label: str
    """The outcome, such as `skipped`."""
    reason: str
    names: Sequence[str]
    fold: bool = False
    """Whether `table` leaves out all but the first few names."""


class Details(NamedTuple):
    """What most people need not read in full: `markdown` and `html` fold it, `table` shows it below its title."""

    title: Inline
    blocks: Sequence[Block]
    hint: Inline = ()
    """What `markdown` and `html` add to the title, as the blocks are folded away."""


class Only(NamedTuple):
    """Blocks for one format, where the others show the same in another place or lack the room.

    `html` also draws what is for `markdown`, unless blocks beside it are for `html`.
    """

    format: str
    blocks: Sequence[Block]


Block: TypeAlias = (
    Paragraph | Heading | Bullets | Items | Fields | Table | CommandLine | Alignment | Code | Names | Details | Only
)
"""Everything that a section can hold."""


class Section(NamedTuple):
    """Blocks that belong together, perhaps below a heading."""

    blocks: Sequence[Block]
    heading: Inline = ""
    """A plain string is in sentence case, and `table` writes it in capitals; spans are shown as they are."""
    style: Style = Style.STRONG
    """The style of a heading that is a plain string."""


@dataclass(frozen=True, slots=True)
class Document:
    """A report as a person reads it."""

    title: Inline
    """What was done to what, such as `tokverify audit: model.gguf`; `table` leaves it out."""
    verdict: str
    """The line that sums the report up."""
    exit_code: int
    """Selects the mark before the title, and the style of the verdict unless that is given."""
    sections: Iterable[Section]
    """The content above the verdict; a generator where it is large, since `present` asks for the verdict only."""
    outcome: tuple[str, str] = ("", "")
    """The verdict in a word or two, and what the exit code means; only `html` shows them."""
    options: Mapping[str, object] = field(default_factory=dict)
    """What the user asked for; only `html` shows it, as it does `versions`."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Library -> version."""
    verdict_style: Style | None = None
    causes: Sequence[str] = ()
    """Why it is so, a line each, for those who read nothing but the verdict."""


VERDICT_STYLES: Mapping[int, Style] = {0: Style.GOOD, 1: Style.BAD}
"""Exit code -> the style of the verdict; that of all others is `WARNING`."""


def verdict_style(document: Document) -> Style:
    """Return the style of a document's verdict."""
    return document.verdict_style or VERDICT_STYLES.get(document.exit_code, Style.WARNING)


def only(format: str, sections: Iterable[Section]) -> Iterator[Section]:
    """Show sections in one format only; see `Only`."""
    return (section._replace(blocks=[Only(format, section.blocks)]) for section in sections)


def for_format(blocks: Iterable[Block], format: str) -> list[Block]:
    """Return the blocks that a format draws."""
    blocks = list(blocks)
    if format == "html" and not any(isinstance(block, Only) and block.format == "html" for block in blocks):
        format = "markdown"
    shown: list[Block] = []
    for block in blocks:
        if isinstance(block, Only):
            shown += for_format(block.blocks, format) if block.format == format else ()
        else:
            shown.append(block)
    return shown


NOUNS: Mapping[Severity, str] = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFO: "informational finding",
}
"""Severity -> what to call a finding, in the order of summaries."""

SEVERITY_STYLES: Mapping[Severity, Style] = {
    Severity.ERROR: Style.BAD,
    Severity.WARNING: Style.WARNING,
    Severity.INFO: Style.STRONG,
}
"""Severity -> the style of its name."""
