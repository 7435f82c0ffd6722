"""The building blocks that all sections of an explanation share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tokverify.render.explain.fold import Fold, WordGroup, fold_middle
from tokverify.render.layout import DIM, exact, exact_or_folded
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True, slots=True)
class Detail:
    """How much of a model's decisions to show."""

    full: bool
    """Leave nothing out."""
    steps: bool
    """Show every single step."""
    reference_ranks: bool
    """Show the ranks of merges in the reference."""


INDENT = 3
MAX_COMPETITORS = 3
"""Alternatives shown for each decision, unless everything is."""
_MAX_PIECES = 60


def indent(content: RenderableType, by: int = INDENT) -> Padding:
    """Indent content by some spaces."""
    return Padding(content, (0, 0, 0, by))


def title(number: int, name: str, summary: str | Text) -> Table:
    """Start a section with a short summary of it."""
    style = "bold cyan"
    grid = Table.grid(padding=(0, INDENT - 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold", ratio=1)
    grid.add_row(Text(str(number), style), Text.assemble((name, style), ": ", summary, overflow="fold"))
    return grid


def note(fold: Fold) -> Text:
    """Describe what was left out."""
    return Text(f"... {fold.description} ...", DIM)


def format_weight(value: float) -> str:
    """Format a rank, a score or a cost with as many digits as a file stores."""
    return f"{value:.9g}"


def join_pieces(pieces: Sequence[str], *, bold: int = -1) -> Text:
    """Show pieces in a row; the one at the index `bold` stands out."""
    return Text(" ").join(exact(piece, "bold" if index == bold else "") for index, piece in enumerate(pieces))


def list_parts(parts: Sequence[Text], left_out: int) -> Text:
    """List alternatives, and how many more there are."""
    more = [Text(f"{left_out:,} more", DIM)] if left_out > 0 else []
    return Text(", ").join([*parts, *more])


def word_heading(group: WordGroup) -> Text:
    """Show the text of some words, where it comes from, and which tokens it became."""
    start, end = group.words[0].source_span[0], group.words[-1].source_span[1]
    where = f"  bytes {start}-{end}, {plural(len(group.pieces), 'token')}: "
    text = exact_or_folded("".join(word.text for word in group.words), fold=True)
    text.stylize("bold")
    kept = fold_middle(group.pieces, "tokens", _MAX_PIECES)
    parts = [note(item) if isinstance(item, Fold) else exact(item[1]) for item in kept]
    return Text.assemble(text, (where, DIM), Text(" ").join(parts), overflow="fold")


def spread(items: Sequence[RenderableType]) -> Iterator[RenderableType]:
    """Yield items with a blank line between them."""
    for index, item in enumerate(items):
        if index:
            yield Text()
        yield item
