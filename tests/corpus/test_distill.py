from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import pytest

from support import made_vocabulary
from support.hostile_corpus import hostile_corpus
from support.paths import DATA
from tokverify.cases.loading import load_cases
from tokverify.cases.suite_writer import render_suite
from tokverify.corpus.coverage import pre_tokenizer_of
from tokverify.corpus.distill import choose, distill
from tokverify.corpus.document import Document
from tokverify.corpus.witness import (
    FirstPlaces,
    Witness,
    WitnessRecorder,
    add_witnesses,
    find_features,
    group_witnesses,
)
from tokverify.engine.encoder import Encoder
from tokverify.spec import TokenizerSpec
from tokverify.texts.mode import Mode

MODE = Mode(add_special=True, parse_special=True)
LINES = [*DATA.joinpath("sample_text.txt").read_text("utf-8").splitlines(), "漢字 and Latin", "don't \n\n 12\t3"]
DOCUMENTS = [Document(row, line) for row, line in enumerate(LINES)]
NOTHING = replace(hostile_corpus(), causes=(), examples=(), report=replace(hostile_corpus().report, results=()))


@pytest.fixture(scope="module", params=["bpe", "spm"])
def spec(request: pytest.FixtureRequest) -> TokenizerSpec:
    return replace(getattr(made_vocabulary, request.param)(), add_bos=True)


def record(encoder: Encoder, documents: Sequence[Document], path: str = "a") -> tuple[Witness, ...]:
    recorder = WitnessRecorder(encoder, path, "row", MODE)
    for start in range(0, len(documents), 50):
        batch = documents[start : start + 50]
        recorder.add(batch, encoder.encode_batch([document.text for document in batch], add_special=True))
    return recorder.witnesses()


def covered(encoder: Encoder, texts: Sequence[str]) -> set[int | str]:
    found: set[int | str] = set()
    for text in texts:
        found.update(encoder.encode(text, add_special=True), find_features(pre_tokenizer_of(encoder), text))
    return found


def test_witnesses_contain_every_token_and_feature(spec: TokenizerSpec):
    encoder = Encoder(spec)
    witnesses = record(encoder, DOCUMENTS)
    around = {encoder.special_ids[role] for role in ("bos", "eos")}
    assert covered(encoder, LINES) - around <= covered(encoder, [witness.text for witness in witnesses])
    assert all(witness.text in LINES[witness.row] for witness in witnesses if witness.features)


def add_all(*parts: Sequence[Witness]) -> tuple[Witness, ...]:
    total: FirstPlaces = {}
    for part in parts:
        add_witnesses(total, part)
    return group_witnesses(total)


def test_witnesses_do_not_depend_on_how_documents_are_divided(spec: TokenizerSpec):
    encoder = Encoder(spec)
    whole = record(encoder, DOCUMENTS)
    third = len(DOCUMENTS) // 3
    parts = [record(encoder, part) for part in (DOCUMENTS[:third], DOCUMENTS[third:-20], DOCUMENTS[-20:])]
    for first, second, last in permutations(parts):
        assert add_all(first, second, last) == add_all(add_all(last, first), second) == whole
    assert add_all(whole, whole) == whole


def test_a_token_that_is_added_around_every_text_is_covered_in_a_text():
    spec = replace(made_vocabulary.spm(), add_bos=True)
    encoder = Encoder(spec)
    bos = spec.tokens[encoder.special_ids["bos"]]
    distilled = distill(record(encoder, [*DOCUMENTS, Document(900, f"a {bos} b")]), NOTHING, encoder, MODE)
    assert any(bos in case.text for case in distilled.cases)


def test_texts_are_chosen_for_what_they_add():
    texts = {"ab": frozenset({1, 2}), "abc": frozenset({1, 2, 3}), "c": frozenset({3}), "": frozenset()}
    chosen = choose(texts)
    assert {item for text in chosen for item in text.items} == {1, 2, 3}
    assert sum(len(text.items) for text in chosen) == 3
    assert choose(dict(reversed(texts.items()))) == chosen


def test_a_distilled_suite_covers_what_the_corpus_does(spec: TokenizerSpec, tmp_path):
    encoder = Encoder(spec)
    distilled = distill(record(encoder, DOCUMENTS), NOTHING, encoder, MODE)
    assert distilled.missing == ()
    assert covered(encoder, LINES) <= covered(encoder, [case.text for case in distilled.cases])
    assert sum(len(case.text) for case in distilled.cases) < sum(map(len, LINES)) / 3
    path = tmp_path / "corpus.yaml"
    path.write_text(render_suite(distilled.cases, note="Distilled."), encoding="utf-8")
    read = load_cases([path])
    assert [(case.id, case.text, case.note) for case in read] == [
        (case.id, case.text, case.note) for case in distilled.cases
    ]
    assert all(case.note.startswith("covers ") for case in read)


MUTATIONS = {
    "pre": lambda spec: replace(spec, pre="default"),
    "bos": lambda spec: replace(spec, add_bos=False),
    "merges": lambda spec: replace(spec, merges=[*spec.merges[100:], *spec.merges[:100]]),
    "no merge": lambda spec: replace(spec, merges=[m for n, m in enumerate(spec.merges) if n % 9]),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_distilled_suite_finds_the_faults_that_the_corpus_finds(name: str):
    intact = replace(made_vocabulary.bpe(), add_bos=True)
    encoder, mutant = Encoder(intact), Encoder(MUTATIONS[name](intact))
    cases = distill(record(encoder, DOCUMENTS), NOTHING, encoder, MODE).cases

    def differs(texts: Sequence[str]) -> bool:
        return any(encoder.encode(text, add_special=True) != mutant.encode(text, add_special=True) for text in texts)

    assert differs(LINES)
    assert differs([case.text for case in cases])


def test_the_examples_of_each_cause_come_first():
    report = hostile_corpus()
    encoder = Encoder(made_vocabulary.bpe())
    distilled = distill(record(encoder, DOCUMENTS[:5]), report, encoder, MODE)
    examples = [result.case.text for result in report.report.results if result.case.text]
    assert [case.text for case in distilled.cases[: len(examples)]] == examples
    assert distilled.cases[0].note.startswith("bos-missing: BOS is missing at the beginning; other: ")
