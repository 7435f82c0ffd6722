"""Reading a report of `tokverify corpus` back."""

from dataclasses import replace
from pathlib import Path

import pytest

from support.codec_kind import CodecKind
from support.hostile_corpus import hostile_corpus
from tokverify.render.kinds import FORMATS
from tokverify.report.corpus import corpus_exit_code

CORPUS = CodecKind(name="corpus", formats=FORMATS["corpus"], exit_code=corpus_exit_code)


@pytest.mark.parametrize(
    "report",
    [hostile_corpus(), replace(hostile_corpus(), coverage=None, throughput=None, notes=(), unreadable=0)],
    ids=["all", "little"],
)
def test_a_report_survives_a_round_trip(tmp_path: Path, report):
    CORPUS.assert_comes_back(tmp_path, report)


def test_the_schema_names_every_key():
    CORPUS.assert_in_schema(hostile_corpus())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda document: document["causes"][0].update(cause="odd"), "$.causes[0].cause: Invalid enum value 'odd'"),
        (lambda document: document["causes"][1]["cases"].append("x"), "$.causes[1].cases: expected ids of results"),
        (lambda document: document["examples"].pop(), "$.examples: expected one for each result"),
        (lambda document: document.update(documents=3), "$.differing: expected at most 3"),
        (lambda document: document.update(bytes=-1), "$.bytes: Expected `int` >= 0"),
        (lambda document: document.pop("shard"), "$.shard: the key is missing"),
    ],
)
def test_an_error_is_reported_with_its_location(tmp_path: Path, change, message: str):
    CORPUS.assert_wrong(tmp_path, hostile_corpus(), change, message)
