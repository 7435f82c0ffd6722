"""Look up the ids of pieces, natively if possible, so that a few lookups do not need a dictionary of all of them."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from functools import cached_property
from operator import add

from tokverify.engine.joined_strings import JoinedStrings, NativePieces
from tokverify.text.utf8 import to_bytes


class PieceIndex(Mapping[str, int]):
    """The id of each piece, in the order of the ids.

    Single lookups are native; whatever concerns all pieces makes a dictionary once.
    """

    def __init__(self, pieces: JoinedStrings, native: NativePieces) -> None:
        self.pieces = pieces
        self.native = native

    @cached_property
    def dictionary(self) -> dict[str, int]:
        """The same as a dictionary, for many lookups."""
        return _index_all(self.pieces)

    def __len__(self) -> int:
        return self.native.count_distinct()

    def __getitem__(self, piece: str) -> int:
        try:
            id = self.native.id(to_bytes(piece))
        except UnicodeEncodeError:
            id = None
        if id is None:
            raise KeyError(piece)
        return id

    def __iter__(self) -> Iterator[str]:
        return iter(self.dictionary)

    def keys(self) -> KeysView[str]:
        """Return the pieces."""
        return self.dictionary.keys()

    def values(self) -> ValuesView[int]:
        """Return the ids."""
        return self.dictionary.values()

    def items(self) -> ItemsView[str, int]:
        """Return the pieces with their ids."""
        return self.dictionary.items()


def index_pieces(pieces: Sequence[str]) -> Mapping[str, int]:
    """Index pieces by their text. If a piece is repeated, the index is smaller than the vocabulary."""
    if isinstance(pieces, JoinedStrings) and pieces.native:
        return PieceIndex(pieces, pieces.native)
    return _index_all(pieces)


def _index_all(pieces: Sequence[str]) -> dict[str, int]:
    return dict(zip(pieces, range(len(pieces)), strict=True))


def listed_pieces(ids: Mapping[str, int]) -> Sequence[str]:
    """Return the pieces in the order of their ids, as they are stored."""
    return ids.pieces if isinstance(ids, PieceIndex) else list(ids)


def find_unmade(merges: Sequence[str], ids: Mapping[str, int]) -> Sequence[int] | None:
    """Return the tokens that no merge makes, if each makes one token of two; None also if a closer look is needed.

    Half a million merges one by one would take longer than all other rules together.
    """
    if isinstance(ids, PieceIndex) and isinstance(merges, JoinedStrings):
        return ids.pieces.find_unmade(merges)
    parts = "\0".join(merges).replace(" ", "\0").split("\0")
    made = set(map(add, parts[::2], parts[1::2]))
    is_plain = len(parts) == 2 * len(merges) and ids.keys() >= made.union(parts)
    return [ids[piece] for piece in ids.keys() - made] if is_plain else None
