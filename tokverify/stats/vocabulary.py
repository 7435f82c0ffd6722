"""What can be told of a vocabulary by itself: which of its tokens ordinary text can use, and how long they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokverify.engine.attribute import Attribute
from tokverify.engine.special_text import BYTE_PIECE
from tokverify.tokenizer import pieces_of, tokens_of

if TYPE_CHECKING:
    from tokverify.tokenizer import Token, Tokenizer

LONG = 10
"""A token of more characters counts as long."""

_ORDINARY = (Attribute.NORMAL | Attribute.USER_DEFINED).value
_EXCLUDED = {
    name: attribute.value
    for name, attribute in (
        ("control", Attribute.CONTROL),
        ("byte", Attribute.BYTE),
        ("unused", Attribute.UNUSED),
        ("unknown", Attribute.UNKNOWN),
    )
}


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The tokens that ordinary text can use, and by kind how many others there are."""

    ids: frozenset[int]
    excluded: Mapping[str, int]


def ordinary(tokenizer: Tokenizer, attributes: Sequence[int] | None) -> Vocabulary:
    """Sort out control, byte, unused and unknown tokens.

    Without `attributes` only the special tokens whose role the tokenizer tells, byte pieces and ids without a token are
    sorted out.
    """
    if attributes is None:
        special = set(tokenizer.special_ids.values())
        kinds = [_kind_of_piece(piece, id in special) for id, piece in enumerate(pieces_of(tokenizer))]
    else:
        kinds = list(map(_kind_of_attribute, attributes))
    ids = frozenset(id for id, kind in enumerate(kinds) if kind is None)
    return Vocabulary(ids, dict(Counter(kind for kind in kinds if kind is not None)))


def _kind_of_attribute(attribute: int) -> str | None:
    if kind := next((name for name, bit in _EXCLUDED.items() if attribute & bit), None):
        return kind
    return None if attribute & _ORDINARY else "undefined"


def _kind_of_piece(piece: str, is_special: bool) -> str | None:
    if is_special:
        return "special"
    if not piece:
        return "undefined"
    return "byte" if BYTE_PIECE.fullmatch(piece) else None


def longest(tokenizer: Tokenizer, ids: Iterable[int], count: int) -> list[Token]:
    """Return the tokens that stand for the most characters, the longest first; runs of one character do not count."""
    lengths = ((-len(text), id) for id in ids if len(set((text := _text(tokenizer, id)).strip())) > 1)
    return tokens_of(tokenizer, [id for _, id in sorted(lengths)[:count]])


def count_long(tokenizer: Tokenizer, ids: Iterable[int]) -> int:
    """Count the tokens that stand for more than `LONG` characters."""
    return sum(len(_text(tokenizer, id)) > LONG for id in ids)


def _text(tokenizer: Tokenizer, id: int) -> str:
    return tokenizer.token_bytes(id).decode("utf-8", "replace")
