"""Type the user-defined pieces of a unigram model NORMAL if llama.cpp then finds them as sentencepiece does.

sentencepiece looks for them in the normalized text, and prefers them to others by their scores. llama.cpp splits the
text at those typed USER_DEFINED, normalizes each part for itself and adds a space before each.
"""

from __future__ import annotations

from array import array
from dataclasses import replace

from tokverify.engine.charsmap import Charsmap
from tokverify.engine.deviating_unigram import preferred_score
from tokverify.engine.families import find_family
from tokverify.engine.family import Ranking
from tokverify.engine.models.unigram_normalizer import UnigramNormalizer
from tokverify.engine.normalizer import escape_spaces
from tokverify.errors import EncodeError
from tokverify.spec import TokenizerSpec, TokenType, ids_of_type
from tokverify.text.utf8 import to_bytes

_MOST = 1_000
"""Of more pieces, a comparison would not try whether both types lead to the same ids."""


def can_be_plain(spec: TokenizerSpec) -> bool:
    """Check whether no user-defined piece of a unigram model needs to be USER_DEFINED.

    Normalization must leave them as they are. Those that llama.cpp makes control tokens because of their texts are
    matched as such, whatever their type is.
    """
    charsmap = Charsmap(spec.charsmap) if spec.charsmap is not None else None
    normalizer = UnigramNormalizer(charsmap, (), merges_spaces=False, prefixes_space=False)
    pieces = [spec.tokens[id] for id in ids_of_type(spec.types, TokenType.USER_DEFINED)]
    try:
        return all(normalizer.normalize(piece) == escape_spaces(piece) for piece in pieces)
    except EncodeError:
        return False


def with_plain_pieces(spec: TokenizerSpec) -> TokenizerSpec:
    """Return a specification with these pieces NORMAL, and with the scores by which sentencepiece prefers them."""
    ids = ids_of_type(spec.types, TokenType.USER_DEFINED)
    family = find_family(spec.model)
    is_unigram = family is not None and family.ranking is Ranking.SCORE_SUM
    if not is_unigram or not 0 < len(ids) <= _MOST or not can_be_plain(spec):
        return spec
    tokens, types, scores = list(spec.tokens), list(spec.types or ()), array("f", spec.scores or ())
    for id in ids:
        tokens[id], types[id] = escape_spaces(tokens[id]), TokenType.NORMAL
        scores[id] = preferred_score(to_bytes(tokens[id]))
    return replace(spec, tokens=tokens, types=types, scores=scores)
