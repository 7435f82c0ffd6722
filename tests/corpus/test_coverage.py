from array import array
from itertools import permutations

import pytest

from support import made_vocabulary
from tokverify.corpus.coverage import (
    Coverage,
    CoverageDescriber,
    CoverageRecorder,
    add_coverage,
    covered_ids,
)
from tokverify.corpus.document import Document
from tokverify.engine.batch import EncodedBatch
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import VARIABLE

TEXTS = ("Hello, world 123", "漢字 and Latin", "  spaces\n\n", "Ελληνικά漢字", "")


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder(made_vocabulary.bpe())


def record(encoder: Encoder, *documents: Document, place: str = "row") -> Coverage:
    recorder = CoverageRecorder(encoder, place)
    recorder.add(documents, encoder.encode_batch([document.text for document in documents]))
    return recorder.coverage()


def test_every_id_is_recorded(encoder: Encoder):
    documents = [Document(row, text) for row, text in enumerate(TEXTS)]
    ids = {id for text in TEXTS for id in encoder.encode(text)}
    assert covered_ids(record(encoder, *documents)) == sorted(ids)


def test_the_order_and_the_division_of_documents_do_not_matter(encoder: Encoder):
    documents = [Document(row, text) for row, text in enumerate(TEXTS)]
    whole = record(encoder, *documents)
    parts = [record(encoder, document) for document in documents]
    for order in permutations(parts):
        total = Coverage()
        for part in order:
            total = add_coverage(total, part)
        assert total == whole
    assert whole.sampled == len(TEXTS)


def test_documents_without_text_are_recorded(encoder: Encoder):
    recorder = CoverageRecorder(encoder, "document")
    recorder.add([Document(0, None, array("I", [5, 9]))], EncodedBatch.from_lists([[5, 9]]))
    assert covered_ids(recorder.coverage()) == [5, 9]


@pytest.mark.parametrize("engine", ["auto", "python"])
def test_both_engines_record_the_same_ids(monkeypatch: pytest.MonkeyPatch, encoder: Encoder, engine: str):
    monkeypatch.setenv(VARIABLE, engine)
    recorder = CoverageRecorder(encoder, "row")
    for lists in ([], [[]], [[3, 900, 3], [], [7]]):
        recorder.add([Document(0, "")] * len(lists), EncodedBatch.from_lists(lists))
    assert covered_ids(recorder.coverage()) == [3, 7, 900]


def test_a_description_counts_tokens_and_merges(encoder: Encoder):
    coverage = record(encoder, Document(0, "Hello, world 123"))
    described = CoverageDescriber(encoder).describe(coverage)
    ids = set(encoder.encode("Hello, world 123"))
    assert described.vocabulary.pieces.done == len(ids)
    assert described.vocabulary.pieces.total == encoder.vocab_size
    assert described.vocabulary.merges.done > 0
    assert described.branches


def test_a_description_is_the_same_after_preparing_with_parts(encoder: Encoder):
    parts = [record(encoder, Document(0, text)) for text in ("Hello, world", "world 123")]
    both = add_coverage(*parts)
    prepared = CoverageDescriber(encoder)
    prepared.prepare(parts[0])
    assert prepared.describe(both) == CoverageDescriber(encoder).describe(both)
