"""What comes of sums of scores, which not every library adds alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tokverify.convert.loss import Loss
from tokverify.engine.families import find_family
from tokverify.engine.family import Ranking
from tokverify.spec import TokenType

if TYPE_CHECKING:
    from tokverify.spec import TokenizerSpec

_PRECISION = 2.0**-22
"""What a sum of single precision may be off, in parts of the sum, for each piece: a few roundings of half a unit."""


def score_losses(spec: TokenizerSpec) -> Iterator[Loss]:
    """Tell that nearly equal sums of a unigram model's scores may be ranked otherwise."""
    scores = spec.scores
    family = find_family(spec.model)
    if family is None or family.ranking is not Ranking.SCORE_SUM or scores is None:
        return

    def pieces(ids: Sequence[int]) -> str:
        return "".join(spec.tokens[id] for id in ids)

    def unknown(ids: Sequence[int]) -> int:
        return sum(_type(spec, id) == TokenType.UNKNOWN for id in ids)

    def is_tie(actual: Sequence[int], expected: Sequence[int]) -> bool:
        # What stands for unknown characters has no score of its own: it has to be the same on both sides.
        if pieces(actual) != pieces(expected) or unknown(actual) != unknown(expected):
            return False
        sums = [sum(scores[id] for id in ids) for ids in (actual, expected)]
        weight = sum(abs(scores[id]) for id in (*actual, *expected)) * len(actual)
        return abs(sums[0] - sums[1]) <= weight * _PRECISION

    yield Loss(
        "how sums of scores are rounded: llama.cpp adds in double precision, sentencepiece in single; where two ways "
        "to write a text score the same, each may take another",
        excuse=is_tie,
    )


def _type(spec: TokenizerSpec, id: int) -> int:
    return spec.types[id] if spec.types else TokenType.NORMAL
