from support.fake_tokenizer import FakeTokenizer
from tokverify.compare.fuzz import cause
from tokverify.compare.fuzz.cause import Causes
from tokverify.compare.fuzz.trial import Trial
from tokverify.report.fuzz import DifferenceKind
from tokverify.report.run import Status
from tokverify.texts.sample import Sample

LETTERS = tuple("abcdefghijklmnopqrstuvwxyz 0123456789\n\u00e9\u00ea\u00eb\u00ec\u00ed")


def sorted_causes(extra_actual, extra_expected, texts) -> Causes:
    trial = Trial(
        FakeTokenizer(*LETTERS, *extra_actual, name="left"), FakeTokenizer(*LETTERS, *extra_expected, name="right")
    )
    causes = Causes(trial)
    for text in texts:
        outcome = trial.outcome(Sample(text, False, False))
        assert outcome
        causes.add(outcome, "words")
    return causes


def minimal_texts(causes: Causes) -> list[str]:
    return [found.outcome.sample.text for found in causes.listed]


def test_many_texts_with_one_cause_are_shown_as_one():
    causes = sorted_causes([], ["xy"], ["the xylophone", "oxygen", "galaxy", "xyxy"])
    assert minimal_texts(causes) == ["xy"]
    found = causes.listed[0]
    assert found.strings == 4
    assert found.found == Sample("the xylophone", False, False)
    assert found.result.status is Status.MISMATCH
    assert found.result.difference is not None
    assert found.described().notes == ("found in 4 texts, the first from the generator words: the xylophone",)
    case = found.result.case
    assert (case.text, case.tags, case.add_special, case.parse_special) == ("xy", ("fuzz", "words"), False, False)
    assert case.note == "[23, 24] from left, [43] from right"
    assert case.id.startswith("ids-")


def test_two_causes_in_one_text_are_both_found():
    causes = sorted_causes([], ["xy", "qu"], ["oxygen", "quiet galaxy"])
    assert minimal_texts(causes) == ["xy", "qu"]
    assert [found.strings for found in causes.listed] == [1, 1]


def test_known_causes_that_appear_after_removing_others_are_removed_too():
    causes = sorted_causes([], ["xy", "qu"], ["oxygen", "quiet", "xquy", "qxyu xquy"])
    assert minimal_texts(causes) == ["xy", "qu"]
    assert sum(found.strings for found in causes.listed) == 4


def test_shrinking_does_not_switch_to_a_known_cause():
    # Three newlines could become two spaces, which fail as well.
    causes = sorted_causes([], ["  ", "\n\n\n"], ["a  b", "a\n\n\nb"])
    assert minimal_texts(causes) == ["  ", "\n\n\n"]


def test_similar_causes_are_listed_up_to_a_limit():
    accented = LETTERS[-5:]
    extra = [f"{letter}{letter}" for letter in accented]
    causes = sorted_causes([], extra, [*extra, "a\u00edb\u00ed\u00ed"])
    assert len(causes.listed) == cause.MAX_ALIKE == 3
    # The fourth shows that there are more, the fifth counts as one of them.
    assert len(causes.unlisted) == 1
    assert sum(found.strings for found in causes.listed) == 5


def test_causes_have_limits(monkeypatch):
    monkeypatch.setattr(cause, "MAX_CAUSES", 1)
    causes = sorted_causes([], ["xy", "qu1"], ["oxygen", "qu1et", "xy qu1"])
    assert minimal_texts(causes) == ["xy"]
    assert len(causes.unlisted) == 2
    monkeypatch.setattr(cause, "MAX_SHRINKS", 0)
    causes = sorted_causes([], ["xy"], ["oxygen"])
    assert (causes.listed, len(causes.unlisted)) == ((), 1)


def test_a_failure_of_the_empty_text_does_not_hang():
    trial = Trial(
        FakeTokenizer("a", "b", special_ids={"bos": 0}), FakeTokenizer("a", "b", "ab", special_ids={"bos": 1})
    )
    causes = Causes(trial)
    for text in ("b", "bb", "ab"):
        causes.add(trial.outcome(Sample(text, True, False)), "words")
    assert minimal_texts(causes)[0] == ""
    assert causes.listed[0].outcome.sample.add_special
    causes.add(trial.outcome(Sample("bab", False, False)), "words")
    assert minimal_texts(causes) == ["", "ab"]


def test_a_text_is_not_shrunk_to_one_whose_cause_is_known():
    trial = Trial(FakeTokenizer(*LETTERS, name="left"), FakeTokenizer(*LETTERS, "ab", "xy", name="right"))
    causes = Causes(trial, lambda outcome: "xy" not in outcome.sample.text)
    causes.add(trial.outcome(Sample("xy ab", False, False)), "words")
    assert minimal_texts(causes) == ["xy"]


def test_errors_and_skips_are_sorted_too():
    trial = Trial(FakeTokenizer("a", "b", name="left"), FakeTokenizer("a", "c", name="right"))
    causes = Causes(trial)
    for text in ("aab", "xyz", "bbb", "aca"):
        causes.add(trial.outcome(Sample(text, False, False)), "words")
    assert [(found.outcome.kind, found.outcome.sample.text) for found in causes.listed] == [
        (DifferenceKind.ERROR, "b"),
        (DifferenceKind.SKIPPED, " "),
        (DifferenceKind.ERROR, "c"),
    ]
    assert [found.result.status for found in causes.listed] == [Status.ERROR, Status.SKIPPED, Status.ERROR]
    assert causes.listed[0].result.message == "expected (right): no piece for 'b'"
    assert causes.listed[0].strings == 2


def test_ids_outside_the_vocabulary_are_shown(monkeypatch):
    expected = FakeTokenizer("a")
    monkeypatch.setattr(expected, "encode", lambda text, **options: [99] * len(text))
    trial = Trial(FakeTokenizer("a"), expected)
    causes = Causes(trial)
    causes.add(trial.outcome(Sample("aaaaaaaaaaaa", False, False)), "repeats")
    assert causes.listed[0].result.expected == (99,)


def test_a_nondeterministic_reference_gets_no_causes(monkeypatch):
    trial = Trial(FakeTokenizer(*LETTERS), FakeTokenizer(*LETTERS, "xy"))
    outcome = trial.outcome(Sample("xy", False, False))
    causes = Causes(trial)
    monkeypatch.setattr(trial.expected, "pieces", LETTERS)
    causes.add(outcome, "words")
    assert (causes.listed, len(causes.unlisted)) == ((), 1)
