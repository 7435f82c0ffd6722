import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from support import made_vocabulary
from tokverify.corpus.conclusion import Comparison, conclude, describe_place
from tokverify.corpus.result import CauseTally, Example, GroupTally, Place, ReasonTally, Tally
from tokverify.engine.encoder import Encoder
from tokverify.report.corpus import CorpusCause, CorpusReport, check_corpus, corpus_exit_code
from tokverify.report.side import Side
from tokverify.texts.mode import Mode

MODE = Mode(add_special=True, parse_special=True)
SIDES = (Side("model", "model.gguf"), Side("reference", "tokenizer.json"))
TEXTS = {
    CorpusCause.BOS_MISSING: "Some words before #lost and some after",
    CorpusCause.BOS_DOUBLED: "The marker #twice is here",
    CorpusCause.NORMALIZATION: "Zürich and #form in one text",
}


Fault = Callable[[Encoder, str, list[int]], list[int]]


def lose_bos(encoder: Encoder, text: str, ids: list[int]) -> list[int]:
    return ids[1:]


def double_bos(encoder: Encoder, text: str, ids: list[int]) -> list[int]:
    return [encoder.special_ids["bos"], *ids]


def decompose(encoder: Encoder, text: str, ids: list[int]) -> list[int]:
    return encoder.encode(unicodedata.normalize("NFD", text), add_special=True)


FAULTS: Mapping[str, Fault] = {"#lost": lose_bos, "#twice": double_bos, "#form": decompose}
"""A word in a text -> what goes wrong with such texts."""


class Planted:
    """Encodes as another encoder does, except for the texts that contain one of the words of `FAULTS`."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def __getattr__(self, name: str) -> object:
        return getattr(self._encoder, name)

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        ids = self._encoder.encode(text, add_special=add_special, parse_special=parse_special)
        if add_special:
            for word, fault in FAULTS.items():
                ids = fault(self._encoder, text, ids) if word in text else ids
        return ids

    def encode_many(self, texts: Sequence[str], **mode: bool) -> list[list[int]]:
        return [self.encode(text, **mode) for text in texts]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder(replace(made_vocabulary.spm(), add_bos=True))


def example(text: str | None, comparison: Comparison, row: int = 7) -> Example:
    ids = [
        () if text is None else tuple(side.encode(text, **MODE._asdict()))
        for side in (comparison.actual, comparison.expected)
    ]
    return Example(f"{row:016x}", Place("data/a.parquet", row, "parquet"), text, *ids)


def tally_of(comparison: Comparison, texts: dict[CorpusCause, str | None]) -> Tally:
    causes = {str(cause): CauseTally(1, (example(text, comparison),)) for cause, text in texts.items()}
    return Tally(documents=10, bytes=1000, differing=len(texts), causes=causes)


@pytest.fixture(scope="module")
def comparison(encoder: Encoder) -> Comparison:
    return Comparison(actual=Planted(encoder), expected=encoder, sides=SIDES, mode=MODE)


@pytest.fixture(scope="module")
def concluded(comparison: Comparison) -> CorpusReport:
    return conclude(tally_of(comparison, TEXTS), comparison)


def test_planted_faults_are_shrunk_to_what_causes_them(concluded: CorpusReport):
    found = {cause.cause: cause.cases for cause in concluded.causes}
    assert found.keys() == TEXTS.keys()
    texts = {result.case.id: result.case.text for result in concluded.report.results}
    shown = {cause: [texts[id] for id in ids] for cause, ids in found.items()}
    assert shown[CorpusCause.BOS_MISSING] == ["#lost"]
    assert shown[CorpusCause.BOS_DOUBLED] == ["#twice"]
    (text,) = shown[CorpusCause.NORMALIZATION]
    assert "#form" in text
    assert len(text) <= len("#formü")


def test_the_report_is_consistent(concluded: CorpusReport):
    assert list(check_corpus(concluded, "$")) == []
    assert corpus_exit_code(concluded) == 1
    assert [example.place for example in concluded.examples] == ["data/a.parquet: row 7"] * 3
    assert all(example.shrunk for example in concluded.examples)
    assert all(result.difference for result in concluded.report.results)


def test_the_same_minimal_text_is_listed_once(comparison: Comparison):
    text = TEXTS[CorpusCause.BOS_MISSING]
    tally = tally_of(comparison, {CorpusCause.BOS_MISSING: text})
    twice = (example(text, comparison, 1), example(f"other {text}", comparison, 2))
    concluded = conclude(replace(tally, causes={"bos-missing": CauseTally(2, twice)}), comparison)
    assert [result.case.text for result in concluded.report.results] == ["#lost"]
    assert concluded.causes[0].documents == 2


@pytest.mark.parametrize("text", [None, "nothing wrong here"])
def test_a_document_that_cannot_be_shrunk_is_shown_as_it_is(comparison: Comparison, text: str | None):
    tally = tally_of(comparison, {CorpusCause.OTHER: text})
    (result,) = conclude(tally, comparison).report.results
    assert result.case.text == (text or "")
    assert result.message
    assert not conclude(tally, comparison).examples[0].shrunk


def test_a_third_tokenizer_judges(comparison: Comparison, encoder: Encoder):
    tally = tally_of(comparison, {CorpusCause.BOS_MISSING: TEXTS[CorpusCause.BOS_MISSING]})
    for judge, judgment in ((encoder, "agrees with expected"), (comparison.actual, "agrees with actual")):
        (found,) = conclude(tally, replace(comparison, judge=judge)).examples
        assert found.judgment == f"{encoder.name} {judgment}"
    other = Encoder(replace(encoder.spec, add_eos=True, special_ids={**encoder.special_ids, "eos": 2}))
    (found,) = conclude(tally, replace(comparison, judge=other)).examples
    assert found.judgment == f"{other.name} agrees with neither side"


def test_ids_of_the_corpus_are_shown_without_shrinking(encoder: Encoder):
    comparison = Comparison(actual=encoder, expected=encoder, sides=SIDES, mode=MODE, reads_ids=True)
    ids = tuple(encoder.encode("hello there", add_special=True))
    shown = Example("ab" * 8, Place("a.parquet", 0, "parquet"), "hello there", ids[1:], ids)
    tally = Tally(documents=1, differing=1, causes={"bos-missing": CauseTally(1, (shown,))})
    (result,) = conclude(tally, comparison).report.results
    assert (result.actual, result.expected) == (ids[1:], ids)
    assert result.difference


def test_ids_of_another_tokenizer_are_noted_if_the_corpus_contains_ids(comparison: Comparison):
    shown = Example("ab" * 8, Place("a.parquet", 0, "parquet"), None, (5, 6, 7), (8, 9))
    tally = Tally(documents=1, differing=1, causes={CorpusCause.NOT_CANONICAL: CauseTally(1, (shown,))})
    (note,) = conclude(tally, replace(comparison, reads_ids=True)).notes
    assert "probably made with another one" in note
    assert conclude(tally, comparison).notes == ()


def test_groups_and_reasons_are_ordered(comparison: Comparison):
    tally = Tally(
        documents=3,
        unreadable=2,
        scripts={"Greek": GroupTally(1), "Latin": GroupTally(2, 1)},
        sources={"b": GroupTally(3), "a": GroupTally()},
        reasons={"broken": ReasonTally(2, (Place("a", 3, "json_lines"), Place("b", -1, "text")))},
    )
    report = conclude(tally, comparison)
    assert [group.name for group in report.scripts] == ["Latin", "Greek"]
    assert [group.name for group in report.sources] == ["a", "b"]
    assert report.unreadable_groups[0].places == ("a: byte 3", "b")
    assert corpus_exit_code(report) == 2


def test_places():
    assert describe_place(Place("x.parquet", 12345, "parquet")) == "x.parquet: row 12,345"


def test_there_is_a_fault_for_each_word():
    assert len(FAULTS) == len(TEXTS)
