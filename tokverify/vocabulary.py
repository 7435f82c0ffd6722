"""Compare two vocabularies: their sizes, the piece of each id, and the ids of the special tokens."""

from __future__ import annotations

from itertools import compress
from operator import ne
from typing import TYPE_CHECKING

from tokverify.report import PieceDifference, VocabularyDifference

if TYPE_CHECKING:
    from tokverify.tokenizer import Tokenizer


def compare_vocabularies(actual: Tokenizer, expected: Tokenizer) -> VocabularyDifference:
    """Compare two vocabularies id by id.

    Stored strings that are equal are taken to stand for the same bytes; only where they differ are the bytes
    looked at, so that another way to spell a token (`▁▁` for two spaces) does not count as a difference.
    """
    ids = range(max(actual.vocab_size, expected.vocab_size))
    unequal = compress(ids, map(ne, map(actual.piece, ids), map(expected.piece, ids)))
    differing, respelled = [], 0
    for id in unequal:
        # An empty piece is an id without a token, or past the end.
        piece, other = actual.piece(id) or None, expected.piece(id) or None
        if piece and other and actual.token_bytes(id) == expected.token_bytes(id):
            respelled += 1
        else:
            differing.append(PieceDifference(id, piece, other))
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
