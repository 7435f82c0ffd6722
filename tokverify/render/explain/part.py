"""The small parts that all sections of an explanation are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tokverify.render.explain.fold import Fold, middle_out
from tokverify.render.layout import DIM, exact, exact_or_folded
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tokverify.engine.trace import Stretch
    from tokverify.explain.explanation import Explanation
    from tokverify.render.explain.fold import Shown

INDENT = 3
RIVALS = 3
"""Alternatives shown of each decision unless all are asked for."""
_MAX_PIECES = 60


def indented(content: RenderableType, by: int = INDENT) -> Padding:
    """Put content further to the right."""
    return Padding(content, (0, 0, 0, by))


def title(number: int, name: str, summary: str | Text) -> Table:
    """Begin a section, with what there is to say of it in a few words."""
    style = "bold cyan"
    grid = Table.grid(padding=(0, INDENT - 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold", ratio=1)
    grid.add_row(Text(str(number), style), Text.assemble((name, style), ": ", summary, overflow="fold"))
    return grid


def note(fold: Fold) -> Text:
    """Say what was left out."""
    return Text(f"... {fold.what} ...", DIM)


def weight(value: float) -> str:
    """Write a rank, a score or a cost with as many digits as a file holds of it."""
    return f"{value:.9g}"


def spaced(pieces: Sequence[str | bytes], *, bold: int = -1) -> Text:
    """Show pieces in a row."""
    return Text(" ").join(exact(piece, "bold" if index == bold else "") for index, piece in enumerate(pieces))


def listed(parts: Sequence[Text], left_out: int) -> Text:
    """List alternatives, and how many there are besides."""
    more = [Text(f"{left_out:,} more", DIM)] if left_out > 0 else []
    return Text(", ").join([*parts, *more])


def heading(explained: Explanation, stretch: Stretch, shown: Shown) -> Text:
    """Begin a word: where it is from, and which tokens it became."""
    first, last = shown.words[0].start, shown.words[-1].end
    start, end = stretch.trace.rewriting.source_span(first, last)
    pieces = [explained.pieces[taken.id] for taken in shown.tokens]
    where = f"  bytes {stretch.start + start}-{stretch.start + end}, {plural(len(pieces), 'token')}: "
    written = exact_or_folded(stretch.trace.rewriting.result[first:last], fold=True)
    written.stylize("bold")
    kept = middle_out(pieces, "tokens", _MAX_PIECES)
    parts = [note(item) if isinstance(item, Fold) else exact(item[1]) for item in kept]
    return Text.assemble(written, (where, DIM), Text(" ").join(parts), overflow="fold")


def lines(items: Sequence[RenderableType]) -> Iterator[RenderableType]:
    """Yield items with a blank line between."""
    for index, item in enumerate(items):
        if index:
            yield Text()
        yield item
