"""Type the user-defined pieces of a unigram model NORMAL where llama.cpp then finds them as sentencepiece does.

sentencepiece looks for them in the normalized text, and prefers them to others by their scores. llama.cpp splits the
text at those typed USER_DEFINED, normalizes each part for itself and adds a space before each.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection
from dataclasses import replace

from tokverify.engine.charsmap import Charsmap
from tokverify.engine.deviating_unigram import preferred_score
from tokverify.engine.models.unigram_normalizer import UnigramNormalizer
from tokverify.errors import EncodeError
from tokverify.spec import TokenizerSpec, TokenType, ids_of_type
from tokverify.text.utf8 import to_bytes


def plain_ids(spec: TokenizerSpec) -> list[int]:
    """Return the user-defined pieces that need not be USER_DEFINED: those that normalization leaves as they are."""
    charsmap = Charsmap(spec.charsmap) if spec.charsmap is not None else None
    normalizer = UnigramNormalizer(charsmap, (), merges_spaces=False, prefixes_space=False)

    def is_kept(piece: str) -> bool:
        try:
            return normalizer.normalize(piece) == piece
        except EncodeError:
            return False

    return [id for id in ids_of_type(spec.types, TokenType.USER_DEFINED) if is_kept(spec.tokens[id])]


def with_plain_pieces(spec: TokenizerSpec) -> TokenizerSpec:
    """Return a specification with these pieces NORMAL, and with the scores by which sentencepiece prefers them."""
    ids: Collection[int] = plain_ids(spec) if spec.model == "t5" else ()
    if not ids:
        return spec
    types, scores = list(spec.types or ()), array("f", spec.scores or ())
    for id in ids:
        types[id], scores[id] = TokenType.NORMAL, preferred_score(to_bytes(spec.tokens[id]))
    return replace(spec, types=types, scores=scores)
