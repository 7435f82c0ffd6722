"""Options of a corpus beyond comparing texts: ids, distilling, a third tokenizer; in the process of the test."""

from pathlib import Path

import pytest

from support.corpus_maker import write_parquet
from support.in_process import InProcess
from support.paths import DATA, SAMPLE
from tokverify import select_cases, verify_model
from tokverify.commands.tasks import corpus
from tokverify.commands.tasks.corpus import verify_corpus
from tokverify.errors import TokverifyError
from tokverify.report.corpus import CorpusCause, corpus_exit_code
from tokverify.report.run import Status
from tokverify.sources.load import load_gguf

MODEL = SAMPLE / "sample.gguf"
REFERENCE = SAMPLE / "sample.tokenizer.model"
LINES = [line for line in DATA.joinpath("sample_text.txt").read_text("utf-8").splitlines() if line]


@pytest.fixture(autouse=True)
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "Processes", InProcess)


@pytest.fixture
def tokenized(tmp_path: Path) -> Path:
    """Write texts with their ids; the last two documents lack BOS, or have an id that does not exist."""
    encoder = load_gguf(MODEL)
    ids = [encoder.encode(line, add_special=True) for line in LINES[:20]]
    assert ids[18][0] == encoder.special_ids["bos"]
    ids[18] = ids[18][1:]
    ids[19] = [*ids[19], encoder.vocab_size]
    path = tmp_path / "tokenized.parquet"
    write_parquet(path, LINES[:20], ids=ids)
    return path


@pytest.mark.parametrize("text", ["text", None])
def test_ids_are_verified_with_and_without_texts(tokenized: Path, text: str | None):
    report = verify_corpus(MODEL, None, [tokenized], text=text, ids="ids")
    assert (report.documents, report.differing, report.unreadable) == (20, 2, 0)
    counts = {cause.cause: cause.documents for cause in report.causes}
    assert counts == {CorpusCause.BOS_MISSING: 1, CorpusCause.OUTSIDE_VOCABULARY: 1}
    assert (report.report.actual.name, report.report.expected.name) == ("ids", "sample")
    assert corpus_exit_code(report) == 1


def test_a_reference_for_ids_is_an_error(tokenized: Path):
    with pytest.raises(TokverifyError, match="omit --reference"):
        verify_corpus(MODEL, REFERENCE, [tokenized], ids="ids")


def test_a_distilled_suite_passes_where_the_corpus_does(tmp_path: Path):
    data, suite = tmp_path / "a.parquet", tmp_path / "suite.yaml"
    write_parquet(data, LINES)
    report = verify_corpus(MODEL, REFERENCE, [data], distilled=suite)
    assert report.differing == 0
    cases = select_cases([suite])
    assert 0 < sum(len(case.text) for case in cases) < sum(map(len, LINES)) / 2
    results = verify_model(MODEL, REFERENCE, cases).results
    assert {result.status for result in results} == {Status.MATCH}
    again = tmp_path / "again.yaml"
    verify_corpus(MODEL, REFERENCE, [data], distilled=again)
    assert again.read_bytes() == suite.read_bytes()


def test_coverage_is_reported(tmp_path: Path):
    write_parquet(tmp_path / "a.parquet", LINES[:20])
    report = verify_corpus(MODEL, REFERENCE, [tmp_path / "a.parquet"])
    encoder = load_gguf(MODEL)
    ids = {id for line in LINES[:20] for id in encoder.encode(line)}
    assert report.coverage.vocabulary.pieces.done == len(ids)


def test_a_third_tokenizer_judges_the_examples(tmp_path: Path):
    write_parquet(tmp_path / "a.parquet", ["text  with two  spaces", LINES[0]])
    other = SAMPLE / "sample-broken.gguf"
    compared = verify_corpus(other, REFERENCE, [tmp_path / "a.parquet"], judge=str(REFERENCE))
    assert compared.differing
    assert {example.judgment for example in compared.examples} == {"sentencepiece agrees with expected"}


def test_the_time_is_recorded_on_request_only(tmp_path: Path):
    write_parquet(tmp_path / "a.parquet", ["hello"])
    assert verify_corpus(MODEL, REFERENCE, [tmp_path / "a.parquet"]).throughput is None
    assert verify_corpus(MODEL, REFERENCE, [tmp_path / "a.parquet"], timing=True).throughput.busy_seconds > 0
