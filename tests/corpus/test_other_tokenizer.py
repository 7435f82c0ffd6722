"""Ids in a corpus that were made with another tokenizer."""

import pytest

from tokverify.corpus.conclusion import has_ids_of_other_tokenizer
from tokverify.corpus.result import CauseTally, Example, Place, Tally
from tokverify.report.corpus import CorpusCause

CANONICAL = tuple(range(100))
OTHER = tuple(range(50, 150))
CUT = (*CANONICAL[:-1], 100)


def tally_of(causes: dict[CorpusCause, int], ids: tuple[int, ...], documents: int = 100) -> Tally:
    """Return the tally of a corpus in which one example of each cause has these ids."""
    example = Example("ab" * 8, Place("a.parquet", 0, "parquet"), None, ids, CANONICAL)
    tallies = {cause: CauseTally(count, (example,)) for cause, count in causes.items()}
    return Tally(documents=documents, differing=documents, causes=tallies)


@pytest.mark.parametrize(
    ("causes", "ids", "expected"),
    [
        ({CorpusCause.NOT_CANONICAL: 95}, OTHER, True),
        ({CorpusCause.NOT_CANONICAL: 45, CorpusCause.OUTSIDE_VOCABULARY: 50}, OTHER, True),
        ({CorpusCause.OTHER: 100}, OTHER, True),
        ({CorpusCause.NOT_CANONICAL: 50}, OTHER, False),
        ({CorpusCause.NOT_CANONICAL: 100}, CUT, False),
        ({CorpusCause.BOS_MISSING: 100}, OTHER, False),
        ({}, OTHER, False),
    ],
    ids=["not canonical", "partly outside", "other text", "half", "cut documents", "another cause", "all agree"],
)
def test_nearly_all_documents_must_differ_in_many_ids(causes, ids, expected):
    assert has_ids_of_other_tokenizer(tally_of(causes, ids)) is expected
