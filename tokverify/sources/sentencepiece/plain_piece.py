"""Type the user-defined pieces of a sentencepiece model NORMAL if llama.cpp then finds them as sentencepiece does.

sentencepiece looks for them in the normalized text. llama.cpp splits the text at those typed USER_DEFINED, normalizes
each part for itself and adds a space before each.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import replace

from tokverify.engine.families import find_family
from tokverify.engine.family import Ranking
from tokverify.engine.models.unigram_normalizer import replacing_normalizer
from tokverify.engine.normalizer import ESCAPED_SPACE, escape_spaces
from tokverify.errors import EncodeError
from tokverify.spec import TokenizerSpec, TokenType, ids_of_type
from tokverify.text.utf8 import to_bytes

_MOST = 1_000
"""Of more pieces, a comparison would not try whether both types lead to the same ids."""


def find_plain_pieces(spec: TokenizerSpec) -> list[int]:
    """Return the user-defined pieces that need not be USER_DEFINED.

    Of a unigram model, these are all or none: sentencepiece prefers them to others by their scores, which a file can
    state. Of a model of merges, they are the characters that no ordinary piece contains, so that nothing merges them.
    """
    ids, family = ids_of_type(spec.types, TokenType.USER_DEFINED), find_family(spec.model)
    if family is None or not ids:
        return []
    if family.ranking is Ranking.SCORE_SUM:
        return ids if len(ids) <= _MOST and _stay_in_normalization(spec, ids) else []
    if family.ranking is not Ranking.SCORE or not spec.add_space_prefix:
        # No space is added after such a piece.
        return []
    taken = {" ", ESCAPED_SPACE}.union(*(spec.tokens[id] for id in ids_of_type(spec.types, TokenType.NORMAL)))
    return [id for id in ids if len(spec.tokens[id]) == 1 and spec.tokens[id] not in taken]


def _stay_in_normalization(spec: TokenizerSpec, ids: Iterable[int]) -> bool:
    """Check whether normalization leaves pieces as they are.

    Those that llama.cpp makes control tokens because of their texts are matched as such, whatever their type is.
    """
    normalizer = replacing_normalizer(spec.charsmap)
    pieces = [spec.tokens[id] for id in ids]
    try:
        return all(normalizer.normalize(piece) == escape_spaces(piece) for piece in pieces)
    except EncodeError:
        return False


def with_plain_pieces(spec: TokenizerSpec) -> TokenizerSpec:
    """Return a specification with these pieces NORMAL, and with the scores by which a unigram model prefers them."""
    ids, family = find_plain_pieces(spec), find_family(spec.model)
    if not ids or family is None:
        return spec
    # Imported here because a model of merges needs no unigram model.
    from tokverify.engine.deviating_unigram import preferred_score

    tokens, types, scores = list(spec.tokens), list(spec.types or ()), array("f", spec.scores or ())
    for id in ids:
        tokens[id], types[id] = escape_spaces(tokens[id]), TokenType.NORMAL
        if family.ranking is Ranking.SCORE_SUM:
            scores[id] = preferred_score(to_bytes(tokens[id]))
    return replace(spec, tokens=tokens, types=types, scores=scores)
