"""Build texts in which a changed merge competes with another merge for the same piece.

The text of a merged piece alone does not show that two merges were reordered: `a b` and `b c` compete only in `abc`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from math import inf
from typing import TYPE_CHECKING

from tokverify.tokenizer import pieces_of

if TYPE_CHECKING:
    from tokverify.compare.diff.version import Version
    from tokverify.report.diff import PartChange

_MAX_MERGES = 500
"""The number of changed merges to look for rivals of."""
_MAX_RIVALS = 20
"""The number of rivals per merge."""
_AFTER = "after "

_Merge = tuple[str, str]
_Ranks = Mapping[_Merge, float]


def conflict_texts(changes: Iterable[PartChange], old: Version, new: Version) -> Iterator[str]:
    """Yield a text for each pair of overlapping merges whose order changed, one of which the changes name."""
    if old.spec is None or new.spec is None:
        return
    before, after = (_rank(version.spec.merges or () if version.spec else ()) for version in (old, new))
    every = {**before, **after}
    named = [_split(merge) for change in changes for merge in _name_merges(change)]
    changed = [merge for merge in dict.fromkeys(named) if merge in every]
    by_left, by_right = _index(every)
    texts = _Texts(new)
    for merge in changed[:: len(changed) // _MAX_MERGES + 1]:
        left, right = merge
        rivals = [(rival, (*merge, rival[1])) for rival in by_left[right]]
        rivals += [(rival, (rival[0], *merge)) for rival in by_right[left]]
        competing = (pieces for rival, pieces in rivals if _is_reordered(merge, rival, before, after))
        yield from filter(None, map(texts.join, islice(competing, _MAX_RIVALS)))


def _rank(merges: Iterable[str]) -> dict[_Merge, float]:
    return {_split(merge): rank for rank, merge in enumerate(merges)}


def _split(merge: str) -> _Merge:
    """Split a merge as llama.cpp does: at the first space that is not its first character."""
    at = merge.find(" ", 1)
    return (merge[:at], merge[at + 1 :]) if at > 0 else (merge, "")


def _name_merges(change: PartChange) -> Iterator[str]:
    """Yield the merge that changed, and the one that it now precedes."""
    yield change.what
    if change.old and change.old.startswith(_AFTER):
        yield change.old.removeprefix(_AFTER)


def _index(merges: Iterable[_Merge]) -> tuple[dict[str, list[_Merge]], dict[str, list[_Merge]]]:
    """Group merges by their left and by their right piece."""
    by_left: dict[str, list[_Merge]] = defaultdict(list)
    by_right: dict[str, list[_Merge]] = defaultdict(list)
    for merge in merges:
        by_left[merge[0]].append(merge)
        by_right[merge[1]].append(merge)
    return by_left, by_right


def _is_reordered(merge: _Merge, rival: _Merge, before: _Ranks, after: _Ranks) -> bool:
    was_first, is_first = (ranks.get(merge, inf) < ranks.get(rival, inf) for ranks in (before, after))
    return was_first != is_first


class _Texts:
    """The texts of sequences of pieces."""

    def __init__(self, version: Version) -> None:
        self._tokenizer = version.tokenizer
        self._ids = {piece: id for id, piece in enumerate(pieces_of(version.tokenizer))}

    def join(self, pieces: Iterable[str]) -> str:
        """Return the text of the pieces; empty if one is not a token, or together they are not whole characters."""
        ids = [self._ids.get(piece) for piece in pieces]
        data = b"".join(b"" if id is None else self._tokenizer.token_bytes(id) for id in ids)
        try:
            return "" if None in ids else data.decode()
        except UnicodeDecodeError:
            return ""
