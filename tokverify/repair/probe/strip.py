"""Find the added tokens whose match includes the whitespace before or after them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokverify.texts.batch import Queries

_WORD = "q"
_SPACES = "  "


@dataclass(frozen=True, slots=True)
class Stripping:
    """Ids of added tokens; empty if the reference ignores such whitespace anyway, so that it cannot be seen."""

    before: frozenset[int]
    after: frozenset[int]


def find_stripping(
    queries: Queries, texts: Sequence[str | None], ids: Collection[int], *, parse_special: bool
) -> Stripping:
    """Find which of the added tokens `ids` include the whitespace around them."""
    shown = [id for id in ids if texts[id] and texts[id] == (texts[id] or "").strip()]
    probes = [f"{_WORD}{_SPACES}{texts[id]}{_SPACES}{_WORD}" for id in shown]
    encodings = queries.encode_all(probes, parse_special=parse_special)
    around = [
        (ids[: ids.index(id)], ids[len(ids) - ids[::-1].index(id) :])
        for id, ids in zip(shown, encodings, strict=True)
        if ids and id in ids
    ]
    found = [id for id, ids in zip(shown, encodings, strict=True) if ids and id in ids]
    before = _find_stripped(queries, _WORD + _SPACES, [left for left, _ in around])
    after = _find_stripped(queries, _SPACES + _WORD, [right for _, right in around])
    return Stripping(frozenset(found[index] for index in before), frozenset(found[index] for index in after))


def _find_stripped(queries: Queries, spaced: str, sides: Sequence[Sequence[int]]) -> Iterator[int]:
    """Yield the indices of those sides that are encoded as if there were no spaces."""
    without, with_spaces = queries.encode(_WORD), queries.encode(spaced)
    if without != with_spaces:
        yield from (index for index, side in enumerate(sides) if side == without)
