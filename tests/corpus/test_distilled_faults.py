"""What a corpus finds, the suite distilled from it finds too; benchmarks/distilled_faults.py asserts this for 1 GB."""

from pathlib import Path

import pytest

from support.corpus_maker import write_json_lines
from support.distilled_fault import distill_corpus, try_fault, write_markers
from support.mutation import MUTATIONS
from support.paths import DATA
from support.selection import thinned

pytestmark = pytest.mark.process


@pytest.fixture
def data(tmp_path: Path) -> list[Path]:
    text = DATA.joinpath("sample_text.txt").read_text("utf-8")
    write_json_lines(tmp_path / "texts.jsonl", [*text.splitlines(), "    def f():\n\t\treturn '\U0001f600'\n"])
    return [tmp_path / "texts.jsonl", tmp_path / "markers.jsonl"]


@pytest.mark.parametrize(("vocabulary", "least"), thinned(2, [("rwkv", 2), ("sample", 10), ("plamo2", 1)]))
def test_the_suite_finds_every_fault_that_the_corpus_finds(
    data: list[Path], tmp_path: Path, vocabulary: str, least: int
):
    write_markers(data[1], [vocabulary])
    suite = tmp_path / "suite.yaml"
    distill_corpus(vocabulary, data, suite)
    mutations = [mutation for mutation in MUTATIONS if mutation.vocabulary == vocabulary]
    outcomes = [try_fault(mutation, data, suite) for mutation in mutations]
    assert [outcome.mutation.name for outcome in outcomes if outcome.is_missed] == []
    assert sum(bool(outcome.place) for outcome in outcomes) >= least
