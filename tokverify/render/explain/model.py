"""Draw the model stage of an explanation: the words of each stretch, without the uninteresting ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Protocol

from rich.text import Text

from tokverify.render.explain.fold import Fold, WordGroup, fold_words
from tokverify.render.explain.lattice import draw_lattice
from tokverify.render.explain.match import draw_matches
from tokverify.render.explain.merge import draw_merges
from tokverify.render.explain.part import Detail, indent, note
from tokverify.render.layout import DIM, exact
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tokverify.report.explain import Explanation, Stretch, Word

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
