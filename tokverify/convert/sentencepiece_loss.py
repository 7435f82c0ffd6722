"""What a sentencepiece .model says and GGUF cannot, or what llama.cpp does otherwise whatever a file says."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tokverify.convert.loss import Loss
from tokverify.convert.retyping import retyped_ids, such
from tokverify.convert.score_loss import score_losses
from tokverify.engine.families import find_family
from tokverify.spec import TokenType
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.convert.loss import Sides
    from tokverify.files.sentencepiece.message import Message
    from tokverify.spec import TokenizerSpec

_OUT_OF_SIGHT = TokenType.CONTROL.value
"""The type of pieces that neither side finds in a text: sentencepiece never reads control tokens."""


def sentencepiece_losses(message: Message, spec: TokenizerSpec) -> Iterator[Loss]:
    """Tell what is lost of a .model, given what was made of it."""
    yield from _user_defined(spec)
    yield from _retyped(spec)
    normalizer, family = message.normalizer_spec, find_family(spec.model)
    if family and not family.uses_charsmap and (normalizer.remove_extra_whitespaces or normalizer.precompiled_charsmap):
        yield Loss(
            "normalizer_spec: remove_extra_whitespaces and precompiled_charsmap; with BPE, llama.cpp ignores both",
            _keep_text,
        )
    if family and family.ignores_byte_pieces and message.trainer_spec.byte_fallback:
        yield Loss(
            "trainer_spec.byte_fallback: with unigram, llama.cpp takes for unknown what no piece can spell", _no_bytes
        )
    yield from score_losses(spec)


def _user_defined(spec: TokenizerSpec) -> Iterator[Loss]:
    ids = [id for id, type in enumerate(spec.types or ()) if type == TokenType.USER_DEFINED]
    if ids:
        yield Loss(
            f"{plural(len(ids), 'user-defined piece')}: sentencepiece looks for them in the normalized text, llama.cpp "
            "cuts the text at them before that, the longest first, and takes bytes for them that only begin like one",
            _Hiding(ids),
        )


def _retyped(spec: TokenizerSpec) -> Iterator[Loss]:
    ids = retyped_ids(spec, {TokenType.NORMAL.value, TokenType.USER_DEFINED.value})
    if ids:
        texts = such([spec.tokens[id] for id in ids])
        yield Loss(f"the type of {texts}: llama.cpp takes it for a control token, whatever a file says", _Hiding(ids))


class _Hiding:
    """Takes pieces out of both vocabularies."""

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
