"""Causes that one change explains become one, with all their texts counted."""

from dataclasses import replace

import pytest

from support.fake_tokenizer import FakeTokenizer
from tokverify.compare.fuzz.cause import Causes
from tokverify.compare.fuzz.explained import ExplainingChange, merge_explained
from tokverify.compare.fuzz.trial import Trial
from tokverify.texts.sample import Sample

RIGHT = FakeTokenizer("a", "b", "c", "d", "aa", "bb", "cc", name="right")


class Wrong(FakeTokenizer):
    """Lacks some pairs of letters."""

    def __init__(self, *missing):
        super().__init__(*RIGHT.pieces, name="wrong")
        self.missing = missing

    def encode(self, text, *, add_special, parse_special):
        known = {piece: id for id, piece in enumerate(RIGHT.pieces)}
        ids = super().encode(text, add_special=False, parse_special=parse_special)
        lacked = {known[pair]: known[pair[0]] for pair in self.missing}
        return [each for id in ids for each in ([lacked[id]] * 2 if id in lacked else [id])]


def sample(text):
    return Sample(text, add_special=False, parse_special=True)


@pytest.fixture
def trial() -> Trial:
    return Trial(Wrong("aa", "bb", "cc"), RIGHT)


@pytest.fixture
def causes(trial):
    found = Causes(trial)
    for text in ("aa", "daa", "bb", "cc", "ccd"):
        found.add(trial.outcome(sample(text)), "words")
    return found.listed


def change(name, *missing):
    return ExplainingChange(name, Wrong(*missing))


def test_without_changes_nothing_is_merged(trial, causes):
    merged = merge_explained(trial, causes, [sample("aa")], [])
    assert (merged.causes, merged.unlisted) == (causes, 1)


def test_causes_with_the_same_explanation_become_the_first_of_them(trial, causes):
    merged = merge_explained(trial, causes, [sample("aabb"), sample("aacc")], [change("adding aa and bb", "cc")])
    first, last = merged.causes
    assert (first.outcome.sample.text, first.explanation) == ("aa", "adding aa and bb")
    assert [other.text for other in first.others] == ["bb"]
    # Three of the texts above, and one of those without a listed cause.
    assert (first.strings, merged.unlisted) == (4, 1)
    assert (last.outcome.sample.text, last.explanation, last.strings) == ("cc", "", 2)


def test_the_first_change_that_explains_a_cause_counts(trial, causes):
    merged = merge_explained(trial, causes, [], [change("adding bb", "aa", "cc"), change("adding all")])
    assert [(cause.outcome.sample.text, cause.explanation) for cause in merged.causes] == [
        ("aa", "adding all"),
        ("bb", "adding bb"),
    ]


def test_a_change_that_explains_nothing_has_no_cause(trial, causes):
    assert merge_explained(trial, causes, [], [change("nothing", "aa", "bb", "cc")]).causes == causes


def test_the_report_names_the_explanation_and_the_other_texts(trial, causes):
    (merged,) = merge_explained(trial, causes, [], [change("adding all")]).causes
    notes = merged.described().notes
    assert notes[0].startswith("found in 5 texts, the first from the generator words: aa")
    assert notes[1:] == (
        "explained by adding all",
        "2 other minimal texts with the same explanation, such as bb, cc",
    )
    report = merged.to_report()
    assert (report.explanation, [text.text for text in report.others]) == ("adding all", ["bb", "cc"])
    assert replace(report, explanation="", others=()) == replace(causes[0], strings=5).to_report()
