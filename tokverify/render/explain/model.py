"""Draw the model stage of an explanation: the words of each stretch, those of no interest left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from rich.text import Text

from tokverify.engine.trace import Lattice, Matching, Merging, Whole
from tokverify.render.explain.fold import Fold, fold_words
from tokverify.render.explain.lattice import draw_lattice
from tokverify.render.explain.match import draw_matches
from tokverify.render.explain.merge import draw_merges
from tokverify.render.explain.part import indented, note
from tokverify.render.layout import DIM, exact
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tokverify.engine.trace import Stretch
    from tokverify.explain.explanation import Explanation
    from tokverify.render.explain.fold import Shown

_DRAWERS: Mapping[type, Callable[..., RenderableType]] = {
    Merging: draw_merges,
    Whole: draw_merges,
    Lattice: draw_lattice,
    Matching: draw_matches,
}
_FEW_WORDS = 12
_MAX_STRETCHES = 12
_MAX_WORDS, _LEAST_WORDS = 24, 4

_MERGES = "each row joins two neighbors; ahead of: other pairs that could have been joined instead, with their {by}s"
_SUMS = (
    "each row is a place in the normalized text, in bytes (▁ is three): the best last piece up to there, where that one"
    " begins, and the best sum; ahead of: other pieces that end there, with their sums; ▸ is on the way taken"
)
_COSTS = (
    "each row is a place in the normalized text, in bytes: the best first piece from there, where that one ends,"
    " and the least cost to the end; ahead of: other pieces from there, with their costs; ▸ is on the way taken"
)


def legends(explained: Explanation) -> Iterator[Text]:
    """Say how to read the tables of the model stage, if there will be any."""
    hows = [word.how for stretch in explained.stretches for word in stretch.trace.words]
    lattice = next((how for how in hows if isinstance(how, Lattice)), None)
    merging = next((how for how in hows if isinstance(how, Merging) and how.joins), None)
    if lattice:
        yield Text(_SUMS if lattice.by == "score" else _COSTS, DIM, overflow="fold")
    elif merging:
        yield Text(_MERGES.format(by=merging.by), DIM, overflow="fold")


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    stretch: Stretch
    differing: frozenset[int]

    @property
    def is_plain(self) -> bool:
        """Whether each word is one token, and the reference's too."""
        return not self.differing and all(len(word.tokens) == 1 for word in self.stretch.trace.words)


def model_sections(explained: Explanation, *, full: bool) -> Iterator[RenderableType]:
    """Show how the words of each stretch became tokens."""
    parts = list(_parts(explained))
    chosen = parts if full else _chosen(parts)
    most = None if full else max(_LEAST_WORDS, _MAX_WORDS // max(1, len(chosen)))
    for is_chosen, group in groupby(parts, lambda part: part in chosen):
        run = list(group)
        if is_chosen:
            for part in run:
                yield from _stretch(explained, part, len(parts) > 1, most)
        else:
            yield indented(note(Fold(_left_out(run))))


def _chosen(parts: Sequence[_Part]) -> list[_Part]:
    """Return the stretches to show: few ones all, of many those that are not plain, the differing ones first."""
    if sum(len(part.stretch.trace.words) for part in parts) <= _FEW_WORDS or len(parts) == 1:
        return [*parts]
    return sorted((part for part in parts if not part.is_plain), key=lambda part: not part.differing)[:_MAX_STRETCHES]


def _left_out(parts: Sequence[_Part]) -> str:
    words = plural(sum(len(part.stretch.trace.words) for part in parts), "word")
    kind = " of one token each" if all(part.is_plain for part in parts) else ""
    return f"{words}{kind}, in {plural(len(parts), 'stretch', 'stretches')}"


def _parts(explained: Explanation) -> Iterator[_Part]:
    indexes = explained.parting.differing if explained.parting else frozenset[int]()
    differing = {explained.tokens[index].word for index in indexes}
    first = 0
    for stretch in explained.stretches:
        count = len(stretch.trace.words)
        own = frozenset(word - first for word in differing if word is not None and first <= word < first + count)
        if count:
            yield _Part(stretch, own)
        first += count


def _stretch(explained: Explanation, part: _Part, several: bool, most: int | None) -> Iterator[RenderableType]:
    stretch = part.stretch
    items = fold_words(stretch, part.differing, most)
    drawers = [_drawer(item) for item in items]
    known = next((drawer for drawer in drawers if drawer), draw_merges)
    if several and known is draw_lattice:
        yield indented(Text.assemble(("stretch ", DIM), exact(stretch.text)))
    for drawer, group in groupby(items, lambda item: _drawer(item) or known):
        yield indented(drawer(explained, stretch, list(group), full=most is None))


def _drawer(item: Shown | Fold) -> Callable[..., RenderableType] | None:
    return None if isinstance(item, Fold) else _DRAWERS[type(item.words[0].how)]
