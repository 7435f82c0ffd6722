"""Compare two vocabularies: their sizes, the piece of each id, and the ids of the special tokens."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from tokverify.report.run import PieceDifference, VocabularyDifference
from tokverify.tokenizer import pieces_of

if TYPE_CHECKING:
    from tokverify.tokenizer import Tokenizer


def compare_vocabularies(actual: Tokenizer, expected: Tokenizer) -> VocabularyDifference:
    """Compare two vocabularies id by id.

    Equal strings are assumed to represent the same bytes. If strings differ, their bytes are compared, so that a token
    that is only stored differently (`▁▁` for two spaces) does not count as a difference.
    """
    pieces, others = pieces_of(actual), pieces_of(expected)
    differing, respelled = [], 0
    for id, (piece, other) in enumerate(zip_longest(pieces, others, fillvalue="")):
        if piece == other:
            continue
        if piece and other and actual.token_bytes(id) == expected.token_bytes(id):
            respelled += 1
        else:
            differing.append(PieceDifference(id, piece or None, other or None))
    return VocabularyDifference(
        actual_size=actual.vocab_size,
        expected_size=expected.vocab_size,
        pieces=tuple(differing),
        respelled=respelled,
        special_ids=_special_id_differences(actual, expected),
    )


def _special_id_differences(actual: Tokenizer, expected: Tokenizer) -> dict[str, tuple[int, int]]:
    ids, others = actual.special_ids, expected.special_ids
    return {role: (ids[role], others[role]) for role in ids if role in others and ids[role] != others[role]}
