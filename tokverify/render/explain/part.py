"""The building blocks that all sections of an explanation share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice, pairwise
from typing import TypeVar

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tokverify.render.alignment import Fold
from tokverify.render.layout import DIM, Columns, exact, exact_or_folded
from tokverify.report.explain import Stretch, Word
from tokverify.text.wording import plural

_MIN_RUN = 3
"""Runs of at least this many single-token words are left out; for shorter ones the note would not be shorter."""
_SPACE_MARK = "▁"
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Detail:
    """How much of a model's decisions to show."""

    full: bool
    """Leave nothing out."""
    steps: bool
    """Show every single step."""
    reference_ranks: bool
    """Show the ranks of merges in the reference."""


_INDENT = 3

_MAX_COMPETITORS = 3
"""Alternatives shown for each decision, unless everything is."""

_MAX_PIECES = 60


def indent(content: RenderableType, by: int = _INDENT) -> Padding:
    """Indent content by some spaces."""
    return Padding(content, (0, 0, 0, by))


def title(number: int, name: str, summary: str | Text) -> Table:
    """Start a section with a short summary of it."""
    style = "bold cyan"
    grid = Table.grid(padding=(0, _INDENT - 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold", ratio=1)
    grid.add_row(Text(str(number), style), Text.assemble((name, style), ": ", summary, overflow="fold"))
    return grid


def note(fold: Fold) -> Text:
    """Describe what was left out."""
    return Text(f"... {fold.what} ...", DIM)


def format_weight(value: float) -> str:
    """Format a rank, a score or a cost with as many digits as a file stores."""
    return f"{value:.9g}"


def join_pieces(pieces: Sequence[str], *, bold: int = -1) -> Text:
    """Show pieces in a row; the one at the index `bold` stands out."""
    return Text(" ").join(exact(piece, "bold" if index == bold else "") for index, piece in enumerate(pieces))


def list_alternatives(parts: Sequence[Text], left_out: int, *, full: bool, first: Sequence[Text] = ()) -> Text:
    """List `first`, then the alternatives of a decision and how many more there are; with `full`, all of them."""
    shown = parts if full else parts[:_MAX_COMPETITORS]
    left_out += len(parts) - len(shown)
    more = [Text(f"{left_out:,} more", DIM)] if left_out > 0 else []
    return Text(", ").join([*first, *shown, *more])


def word_heading(group: WordGroup) -> Text:
    """Show the text of some words, where it comes from, and which tokens it became."""
    start, end = group.words[0].source_span[0], group.words[-1].source_span[1]
    where = f"  bytes {start}-{end}, {plural(len(group.pieces), 'token')}: "
    text = exact_or_folded("".join(word.text for word in group.words), fold=True)
    text.stylize("bold")
    pieces = join(list(map(exact, group.pieces)), "tokens", _MAX_PIECES, Text(" "))
    return Text.assemble(text, (where, DIM), pieces, overflow="fold")


def spread(items: Sequence[RenderableType]) -> Group:
    """Put a blank line between items."""
    spaced = chain.from_iterable((Text(), item) for item in items)
    return Group(*islice(spaced, 1, None))


@dataclass(frozen=True, slots=True)
class WordGroup:
    """Words that are shown together: the parts of one pre-token, or of the text between two spaces."""

    index: int
    """The index of the first word in its stretch."""
    words: tuple[Word, ...]

    @property
    def pieces(self) -> list[str]:
        """The pieces of all words."""
        return [piece for word in self.words for piece in word.pieces]


def fold_words(stretch: Stretch, differing: frozenset[int], limit: int | None) -> list[WordGroup | Fold]:
    """Choose what to show: groups of several tokens, and those with a word whose index is in `differing`.

    At most `limit` groups are kept, the differing ones first; all groups where `limit` is None.
    """
    groups = list(_group_words(stretch))
    if limit is None:
        return [*groups]
    noun = "pre-token" if stretch.pre_tokens and _SPACE_MARK not in stretch.normalized else "word"
    folded: list[WordGroup | Fold] = []
    for is_shown, run in groupby(groups, lambda group: len(group.pieces) != 1 or _differs(group, differing)):
        members = list(run)
        if is_shown or len(members) < _MIN_RUN:
            folded += members
        else:
            folded.append(Fold(f"{plural(len(members), noun)} of one token each"))
    return _limit_groups(folded, noun, differing, limit)


def _group_words(stretch: Stretch) -> Iterator[WordGroup]:
    start = 0
    for index, (before, word) in enumerate(pairwise(stretch.words), start=1):
        if word.pre_token != before.pre_token or word.text.startswith(_SPACE_MARK):
            yield WordGroup(start, stretch.words[start:index])
            start = index
    if stretch.words:
        yield WordGroup(start, stretch.words[start:])


def _differs(group: WordGroup, differing: frozenset[int]) -> bool:
    return not differing.isdisjoint(range(group.index, group.index + len(group.words)))


def _limit_groups(
    items: list[WordGroup | Fold], noun: str, differing: frozenset[int], limit: int
) -> list[WordGroup | Fold]:
    groups = [item for item in items if isinstance(item, WordGroup)]
    if len(groups) <= limit + 1:
        return items
    by_interest = sorted(groups, key=lambda group: not _differs(group, differing))
    kept = {group.index for group in by_interest[:limit]}
    limited: list[WordGroup | Fold] = []
    for is_kept, run in groupby(items, lambda item: isinstance(item, WordGroup) and item.index in kept):
        members = list(run)
        left_out = sum(isinstance(item, WordGroup) for item in members)
        if is_kept or not left_out:
            limited += members
        else:
            limited.append(Fold(f"{plural(left_out, f'more {noun}')} of several tokens, and those of one"))
    return limited


def fold_middle(items: Sequence[Item], noun: str, limit: int | None) -> list[Item | Fold]:
    """Return items; of more than `limit`, leave out the middle. None is no limit."""
    if limit is None or len(items) <= limit + 1:
        return [*items]
    head = limit * 3 // 4
    note = Fold(f"{len(items) - limit:,} more {noun}")
    return [*items[:head], note, *items[head - limit :]]


def join(parts: Sequence[Text], noun: str, limit: int | None, separator: Text) -> Text:
    """Show parts in a row; of more than `limit`, the middle is left out."""
    kept = fold_middle(parts, noun, limit)
    return separator.join(note(part) if isinstance(part, Fold) else part for part in kept)


def add_rows(  # noqa: PLR0913, PLR0917 - where to, what, how many of it, and how
    drawn: Columns,
    items: Sequence[Item],
    noun: str,
    limit: int | None,
    draw_row: Callable[[Item], Sequence[RenderableType]],
    indent: int = 1,
) -> None:
    """Add a row for each item; of more than `limit`, one after `indent` empty cells stands for the middle."""
    for item in fold_middle(items, noun, limit):
        drawn.add_row(*([*[Text()] * indent, note(item)] if isinstance(item, Fold) else draw_row(item)))
