"""Draw the model stage of an explanation: the words of each stretch, without the uninteresting ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Protocol

from rich.console import Group
from rich.text import Text

from tokverify.render.explain.fold import Fold, WordGroup, fold_middle, fold_words
from tokverify.render.explain.lattice import draw_lattice
from tokverify.render.explain.merge import draw_merges
from tokverify.render.explain.part import MAX_COMPETITORS, Detail, indent, list_parts, note, spread, word_heading
from tokverify.render.layout import DIM, exact, table
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tokverify.report.explain import Attempt, Explanation, Stretch, Word


_FEW_WORDS = 12
_MAX_STRETCHES = 12
_MAX_WORDS, _MIN_WORDS = 24, 4

_MERGES = (
    "each row merges two neighbors; preferred to: other pairs that could have been merged instead, with their {by}s"
)
_RANKS = (
    "; the reference's rank is that of the same merge in the reference, and in the last column it follows a slash (-"
    " if the reference does not list the merge)"
)
_SUMS = (
    "each row is a position in the normalized text, in bytes (▁ is three): the best last piece up to it, where that"
    " piece starts, and the best sum; preferred to: other pieces that end there, with their sums; ▸ marks the best path"
)
_UNKNOWN = "; a character that is not a piece is unknown, with a score 10 below the lowest one"
_COSTS = (
    "each row is a position in the normalized text, in bytes: the best first piece from it, where that piece ends, and"
    " the lowest cost to the end; preferred to: other pieces from there, with their costs; ▸ marks the best path"
)


class _Drawer(Protocol):
    def __call__(self, stretch: Stretch, items: Sequence[WordGroup | Fold], detail: Detail, /) -> RenderableType: ...


def legends(explained: Explanation) -> Iterator[Text]:
    """Explain how to read the tables of the model stage, if there will be any."""
    words = [word for fragment in explained.fragments if fragment.stretch for word in fragment.stretch.words]
    lattice = next((word.lattice for word in words if word.lattice), None)
    merging = next((word.merging for word in words if word.merging and word.merging.merges), None)
    if lattice:
        unknown = _UNKNOWN if any(map(_has_unknown, words)) else ""
        yield Text(_SUMS + unknown if lattice.by == "score" else _COSTS, DIM, overflow="fold")
    elif merging:
        has_ranks = explained.reference is not None and explained.reference.has_merge_ranks
        yield Text(_MERGES.format(by=merging.by) + (_RANKS if has_ranks else ""), DIM, overflow="fold")


def _has_unknown(word: Word) -> bool:
    return word.lattice is not None and any(row.best.is_unknown for row in word.lattice.rows)


@dataclass(frozen=True, slots=True, eq=False)
class _Section:
    stretch: Stretch
    differing: frozenset[int]
    """The indexes of the words in this stretch whose tokens the reference does not have."""

    @property
    def is_plain(self) -> bool:
        """Whether each word is one token, for the reference too."""
        return not self.differing and all(len(word.ids) == 1 for word in self.stretch.words)


def model_sections(explained: Explanation, *, full: bool, steps: bool) -> Iterator[RenderableType]:
    """Show how the words of each stretch became tokens."""
    sections = list(_list_sections(explained))
    ranks = explained.reference is not None and explained.reference.has_merge_ranks
    detail = Detail(full=full, steps=steps, reference_ranks=ranks)
    chosen = sections if full else _choose(sections)
    limit = None if full else max(_MIN_WORDS, _MAX_WORDS // max(1, len(chosen)))
    for is_chosen, group in groupby(sections, lambda section: section in chosen):
        run = list(group)
        if is_chosen:
            for section in run:
                yield from _draw_section(section, len(sections) > 1, limit, detail)
        else:
            yield indent(note(Fold(_describe_left_out(run))))


def _choose(sections: Sequence[_Section]) -> list[_Section]:
    """Choose the stretches to show: all if they are few, else those that are not plain, the differing ones first."""
    if sum(len(section.stretch.words) for section in sections) <= _FEW_WORDS or len(sections) == 1:
        return [*sections]
    interesting = [section for section in sections if not section.is_plain]
    return sorted(interesting, key=lambda section: not section.differing)[:_MAX_STRETCHES]


def _describe_left_out(sections: Sequence[_Section]) -> str:
    words = plural(sum(len(section.stretch.words) for section in sections), "word")
    kind = " of one token each" if all(section.is_plain for section in sections) else ""
    return f"{words}{kind}, in {plural(len(sections), 'stretch', 'stretches')}"


def _list_sections(explained: Explanation) -> Iterator[_Section]:
    indexes = explained.reference.differing_tokens if explained.reference else ()
    differing = {explained.tokens[index].word for index in indexes}
    first = 0
    for fragment in explained.fragments:
        stretch = fragment.stretch
        if stretch is None or not stretch.words:
            continue
        following = first + len(stretch.words)
        own = frozenset(word - first for word in differing if word is not None and first <= word < following)
        yield _Section(stretch, own)
        first = following


def _draw_section(section: _Section, has_others: bool, limit: int | None, detail: Detail) -> Iterator[RenderableType]:
    stretch = section.stretch
    items = fold_words(stretch, section.differing, limit)
    drawers = [_drawer_of(item) for item in items]
    default = next((drawer for drawer in drawers if drawer), draw_merges)
    if has_others and default is draw_lattice:
        yield indent(Text.assemble(("stretch ", DIM), exact(stretch.text)))
    for drawer, group in groupby(items, lambda item: _drawer_of(item) or default):
        yield indent(drawer(stretch, list(group), detail))


def _drawer_of(item: WordGroup | Fold) -> _Drawer | None:
    if isinstance(item, Fold):
        return None
    word = item.words[0]
    if word.lattice:
        return draw_lattice
    return draw_matches if word.matching else draw_merges


_MAX_ROWS, _MAX_ROWS_FULL = 24, 1000


def draw_matches(_stretch: Stretch, items: Sequence[WordGroup | Fold], detail: Detail) -> RenderableType:
    """Draw words: each piece taken, and the longer candidates that are not pieces."""
    return Group(*spread([note(item) if isinstance(item, Fold) else _draw_group(item, detail.full) for item in items]))


def _draw_group(group: WordGroup, full: bool) -> RenderableType:
    matchings = [word.matching for word in group.words if word.matching]
    attempts = [attempt for matching in matchings for attempt in matching.attempts]
    heading = word_heading(group)
    if not any(attempt.missing for attempt in attempts) and len(attempts) == 1:
        return heading
    drawn = table(("takes", "left"), ("longer, but not a piece", "left"))
    for item in fold_middle(attempts, "pieces", _MAX_ROWS_FULL if full else _MAX_ROWS):
        if isinstance(item, Fold):
            drawn.add_row(note(item))
        else:
            drawn.add_row(_draw_found(item[1]), _draw_missing(item[1], full))
    parts: list[RenderableType] = [heading, indent(drawn, 2)]
    if not all(matching.complete for matching in matchings):
        reason = Text("a position where no piece fits makes the whole word unknown", DIM)
        parts.append(indent(reason, 2))
    return Group(*parts)


def _draw_found(attempt: Attempt) -> Text:
    return Text("(nothing)", DIM) if attempt.found is None else exact(attempt.found, "bold")


def _draw_missing(attempt: Attempt, full: bool) -> Text:
    limit = len(attempt.missing) if full else MAX_COMPETITORS
    parts = [exact(candidate) for candidate in attempt.missing[:limit]]
    return list_parts(parts, max(0, len(attempt.missing) - limit) + attempt.missing_left_out)
