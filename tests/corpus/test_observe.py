from dataclasses import replace

import msgspec
import pytest

from support import made_vocabulary
from support.corpus_maker import corpus_file, write_json_lines
from support.paths import DATA
from tokverify.corpus.cause import Classifier
from tokverify.corpus.check import TokenizerChecker
from tokverify.corpus.conclusion import Comparison, conclude
from tokverify.corpus.coverage import covered_ids
from tokverify.corpus.document import Columns, UnitPart
from tokverify.corpus.plan import divide
from tokverify.corpus.result import Tally, UnitResult, add
from tokverify.corpus.work import Observation, Worker
from tokverify.engine.encoder import Encoder
from tokverify.report.side import Side
from tokverify.texts.mode import Mode

MODE = Mode(add_special=True, parse_special=True)
LINES = [line for line in DATA.joinpath("sample_text.txt").read_text("utf-8").splitlines() if line]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder(replace(made_vocabulary.bpe(), add_bos=True))


def process(path, encoder: Encoder, unit_bytes: int, *, keeps_excerpts: bool = True) -> Tally:
    checker = TokenizerChecker(encoder, encoder, MODE, Classifier(encoder, encoder).classify)
    worker = Worker(checker, Columns("text"), 1.0, Observation(encoder, MODE, keeps_excerpts))
    total = Tally()
    for unit in divide([corpus_file(path)], unit_bytes):
        total = add(total, worker.process(UnitPart(unit)))
    return total


def test_what_is_observed_does_not_depend_on_the_units(tmp_path, encoder: Encoder):
    path = tmp_path / "a.jsonl"
    write_json_lines(path, LINES)
    whole = process(path, encoder, 1 << 30)
    assert process(path, encoder, 2000) == whole
    ids = {id for line in LINES for id in encoder.encode(line, add_special=True)}
    assert covered_ids(whole.coverage) == sorted(ids)
    assert whole.witnesses


def test_excerpts_are_kept_on_request_only(tmp_path, encoder: Encoder):
    path = tmp_path / "a.jsonl"
    write_json_lines(path, LINES[:20])
    tally = process(path, encoder, 1 << 30, keeps_excerpts=False)
    assert tally.witnesses == ()
    assert tally.coverage.branches


def test_what_is_observed_survives_json_and_gets_into_the_report(tmp_path, encoder: Encoder):
    path = tmp_path / "a.jsonl"
    write_json_lines(path, LINES[:20])
    result = UnitResult("plan", "unit", process(path, encoder, 1 << 30), 1.0)
    assert msgspec.json.decode(msgspec.json.encode(result), type=UnitResult) == result
    sides = (Side("a", "a"), Side("b", "b"))
    report = conclude(result.tally, Comparison(actual=encoder, expected=encoder, sides=sides, mode=MODE))
    assert report.coverage.vocabulary.pieces.done == len(covered_ids(result.tally.coverage))
    assert report.coverage.sampled == result.tally.coverage.sampled > 0
