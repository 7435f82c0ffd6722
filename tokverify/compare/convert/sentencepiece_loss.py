"""Find what GGUF cannot express of a sentencepiece .model, and what llama.cpp always does differently."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tokverify.compare.convert.loss import Loss, Sides, find_made_control, name_texts
from tokverify.engine.families import find_family
from tokverify.engine.family import Ranking
from tokverify.spec import TokenizerSpec, TokenType, ids_of_type
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.sources.sentencepiece.message import Message

_OUT_OF_SIGHT = TokenType.CONTROL.value
"""A type whose pieces neither side matches in texts: sentencepiece never parses control tokens."""
NO_BYTES = "with unigram, llama.cpp treats what no piece covers as unknown"
"""The sentence about byte pieces, for a message of any format."""
_PRECISION = 2.0**-22
"""The error of a single-precision sum for each piece, relative to the sum: a few roundings of half a unit."""


def sentencepiece_losses(message: Message, spec: TokenizerSpec) -> Iterator[Loss]:
    """Yield what is lost when a .model is converted to `spec`."""
    yield from _user_defined_losses(spec)
    yield from _control_losses(spec)
    normalizer, family = message.normalizer_spec, find_family(spec.model)
    if family and not family.uses_charsmap and (normalizer.remove_extra_whitespaces or normalizer.precompiled_charsmap):
        yield Loss(
            "normalizer_spec: remove_extra_whitespaces and precompiled_charsmap; with BPE, llama.cpp ignores both",
            _keep_text,
        )
    if family and family.ignores_byte_pieces and message.trainer_spec.byte_fallback:
        yield Loss(f"trainer_spec.byte_fallback: {NO_BYTES}", _no_bytes)
    yield from score_losses(spec)


def _user_defined_losses(spec: TokenizerSpec) -> Iterator[Loss]:
    ids = ids_of_type(spec.types, TokenType.USER_DEFINED)
    if ids:
        yield Loss(
            f"{plural(len(ids), 'user-defined piece')}: sentencepiece matches them in the normalized text; llama.cpp "
            "splits the text at them before normalization, longest first, and does not normalize text that only begins "
            "like one",
            _Hiding(ids),
        )


def _control_losses(spec: TokenizerSpec) -> Iterator[Loss]:
    ids = find_made_control(spec, {TokenType.NORMAL.value, TokenType.USER_DEFINED.value})
    if ids:
        texts = name_texts([spec.tokens[id] for id in ids])
        yield Loss(
            f"the type of {texts}: llama.cpp treats it as a control token, regardless of what the file declares",
            _Hiding(ids),
        )


class _Hiding:
    """Hides pieces in both vocabularies."""

    def __init__(self, ids: Collection[int]) -> None:
        self._ids = ids

    def __call__(self, sides: Sides) -> None:
        types, tokens = list(sides.spec.types or ()), list(sides.spec.tokens)
        for id in self._ids:
            types[id] = sides.content.pieces[id].type = _OUT_OF_SIGHT
            # subtle: with BPE, llama.cpp merges to tokens of any type.
            tokens[id] = f"[HIDDEN_{id}]"
        sides.spec = replace(sides.spec, types=types, tokens=tokens)


def _keep_text(sides: Sides) -> None:
    normalizer: Any = sides.content.normalizer_spec
    normalizer.remove_extra_whitespaces = False
    normalizer.precompiled_charsmap = b""


def _no_bytes(sides: Sides) -> None:
    sides.content.trainer_spec.byte_fallback = False
    for piece in sides.content.pieces:
        if piece.type == TokenType.BYTE:
            piece.type = _OUT_OF_SIGHT


def score_losses(spec: TokenizerSpec) -> Iterator[Loss]:
    """Yield the loss that nearly equal sums of a unigram model's scores may be ranked differently."""
    scores = spec.scores
    family = find_family(spec.model)
    if family is None or family.ranking is not Ranking.SCORE_SUM or scores is None:
        return

    def pieces(ids: Sequence[int]) -> str:
        return "".join(spec.tokens[id] for id in ids)

    def unknown(ids: Sequence[int]) -> int:
        return sum(_type(spec, id) == TokenType.UNKNOWN for id in ids)

    def is_tie(actual: Sequence[int], expected: Sequence[int]) -> bool:
        # Tokens for unknown characters have no score of their own, so both sides must have equally many.
        if pieces(actual) != pieces(expected) or unknown(actual) != unknown(expected):
            return False
        sums = [sum(scores[id] for id in ids) for ids in (actual, expected)]
        weight = sum(abs(scores[id]) for id in (*actual, *expected)) * len(actual)
        return abs(sums[0] - sums[1]) <= weight * _PRECISION

    yield Loss(
        "rounding of score sums: llama.cpp adds in double precision, sentencepiece in single; if two segmentations of "
        "a text score the same, each may choose another one",
        excuse=is_tie,
    )


def _type(spec: TokenizerSpec, id: int) -> int:
    return spec.types[id] if spec.types else TokenType.NORMAL
