"""Analyze a vocabulary: which tokens ordinary text can use, and how long they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tokverify.engine.attribute import Attribute
from tokverify.engine.special_text import BYTE_PIECE
from tokverify.report.stats import LONG_TOKEN
from tokverify.tokenizer import Token, Tokenizer, pieces_of, tokens_of

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
class OrdinaryTokens:
    """The tokens that ordinary text can use."""

    ids: frozenset[int]

    excluded: Mapping[str, int]
    """Kind of token -> number of tokens that ordinary text cannot use."""


def find_ordinary(tokenizer: Tokenizer, attributes: Sequence[int] | None) -> OrdinaryTokens:
    """Exclude control, byte, unused and unknown tokens.

    Without `attributes`, only special tokens with a known role, byte pieces and ids without a token are excluded.
    """
    if attributes is None:
        special = set(tokenizer.special_ids.values())
        kinds = [_kind_of_piece(piece, id in special) for id, piece in enumerate(pieces_of(tokenizer))]
    else:
        kinds = list(map(_kind_of_attribute, attributes))
    ids = frozenset(id for id, kind in enumerate(kinds) if kind is None)
    return OrdinaryTokens(ids, dict(Counter(kind for kind in kinds if kind is not None)))


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


def find_longest(tokenizer: Tokenizer, ids: Iterable[int], count: int) -> list[Token]:
    """Return the tokens that represent the most characters, longest first, except runs of one character."""
    texts = {id: _text(tokenizer, id) for id in ids}
    varied = [id for id, text in texts.items() if len(set(text.strip())) > 1]
    return tokens_of(tokenizer, sorted(varied, key=lambda id: (-len(texts[id]), id))[:count])


def count_long(tokenizer: Tokenizer, ids: Iterable[int]) -> int:
    """Count the tokens that represent more than `LONG_TOKEN` characters."""
    return sum(len(_text(tokenizer, id)) > LONG_TOKEN for id in ids)


def _text(tokenizer: Tokenizer, id: int) -> str:
    return tokenizer.token_bytes(id).decode("utf-8", "replace")
