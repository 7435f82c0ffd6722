import pytest

from support.fake_tokenizer import FakeTokenizer
from support.paths import SAMPLE
from tokverify.compare.fuzz.trial import Trial, TrialOutcome
from tokverify.errors import EncodeError, UnsupportedError
from tokverify.report.fuzz import DifferenceKind
from tokverify.texts.sample import Sample


def sample(text: str, add_special: bool = False, parse_special: bool = True) -> Sample:
    return Sample(text, add_special, parse_special)


def test_a_match_keeps_only_its_ids():
    seen = []
    trial = Trial(FakeTokenizer("a", "b"), FakeTokenizer("a", "b"))
    assert trial.run([sample("ab"), sample("")], seen.append) == [None, None]
    assert seen == [[0, 1], []]


def test_ids_that_differ():
    trial = Trial(FakeTokenizer("a", "b", "ab"), FakeTokenizer("a", "b"))
    outcome = trial.outcome(sample("bab"))
    assert outcome == TrialOutcome(sample("bab"), DifferenceKind.IDS, [1, 2], [1, 0, 1])
    assert outcome.fingerprint == trial.outcome(sample("abb")).fingerprint == (DifferenceKind.IDS, (2,), (0, 1), "")
    assert trial.outcome(sample("abab")).fingerprint != outcome.fingerprint


def test_an_error_of_one_side_is_a_failure_and_of_both_none():
    trial = Trial(FakeTokenizer("a", name="left"), FakeTokenizer("a", "b", name="right"))
    assert trial.outcome(sample("b")) == TrialOutcome(
        sample("b"), DifferenceKind.ERROR, message="actual (left): no piece for 'b'"
    )
    outcome = trial.outcome(sample("c"))
    assert outcome.kind is DifferenceKind.SKIPPED
    reasons = "actual (left): no piece for 'c'; expected (right): no piece for 'c'"
    assert outcome.message == f"neither side can encode this text: {reasons}"


def test_texts_that_a_reference_does_not_support_are_skipped(monkeypatch):
    expected = FakeTokenizer("a", name="right")

    def refuse(text, **options):
        raise UnsupportedError("not for me")

    monkeypatch.setattr(expected, "encode", refuse)
    outcome = Trial(FakeTokenizer("a"), expected).outcome(sample("a"))
    assert outcome == TrialOutcome(sample("a"), DifferenceKind.SKIPPED, message="expected (right): not for me")


def test_a_bug_is_not_taken_for_a_finding(monkeypatch):
    actual = FakeTokenizer("a")
    monkeypatch.setattr(actual, "encode", lambda text, **options: {}["missing"])
    with pytest.raises(KeyError):
        Trial(actual, FakeTokenizer("a")).outcome(sample("a"))


def test_options_that_one_side_does_not_support_are_off():
    special = {"special": ["<s>"], "special_ids": {"bos": 1}}
    full, plain = FakeTokenizer("a", "<s>", **special), FakeTokenizer("a", "<", "s", ">", **special)
    plain.adds_special = False
    full.parses_special = False
    for trial in (Trial(full, plain), Trial(plain, full)):
        assert trial.with_supported_options(sample("a", True, True)) == sample("a", False, True)
        assert trial.with_supported_options(sample("a<s>", True, True)) == sample("a<s>", False, False)
        assert trial.outcome(sample("a", True, True)) is None


class Decoder(FakeTokenizer):
    """A tokenizer that decodes differently."""

    def decode(self, ids):
        if 2 in ids:
            raise EncodeError("cannot")
        return bytes(ids)


def test_decoding_is_compared_on_request():
    actual, expected = FakeTokenizer("a", "b", "c"), Decoder("a", "b", "c")
    assert Trial.of(actual, expected).outcome(sample("ab")) is None
    trial = Trial.of(actual, expected, decoding=True)
    outcome = trial.outcome(sample("ab"))
    assert outcome == TrialOutcome(sample("ab"), DifferenceKind.DECODING, b"ab", b"\x00\x01")
    assert trial.outcome(sample("")) is None
    assert trial.outcome(sample("c")).kind is DifferenceKind.DECODING
    assert "cannot" in trial.outcome(sample("c")).message
    # What neither can encode cannot be decoded either.
    assert [outcome.kind for outcome in trial.run([sample("x"), sample("a")])] == [
        DifferenceKind.SKIPPED,
        DifferenceKind.DECODING,
    ]


def test_decoding_is_always_compared_with_llama_cpp_in_its_own_way():

    from tokverify.sources.load import load_gguf

    encoder = load_gguf(SAMPLE / "sample.gguf")

    class LlamaCpp:
        name = "llama.cpp"
        parses_special = adds_special = decodes_as_llama_cpp = True
        encode = staticmethod(encoder.encode)

        @staticmethod
        def decode_many(all_ids):
            return [encoder.decode(ids, clean_up=True) for ids in all_ids]

    trial = Trial.of(encoder, LlamaCpp())
    assert trial.decoding
    assert trial.run([sample("Hello , you !"), sample("it 's")]) == [None, None]


def test_a_side_without_support_for_an_option_is_named_once():
    able = FakeTokenizer("a", "<s>", special=["<s>"])
    left = FakeTokenizer("a", "<s>", special=["<s>"], name="left", adds_special=False, parses_special=False)
    assert Trial(able, able).notes == ()
    assert Trial(able, left).notes == Trial(left, left).notes
    assert Trial(able, left).notes == (
        "compared with add_special turned off: left does not know which tokens to add around a text",
        "compared with parse_special turned on, but off for texts that contain a control token of left, which never "
        "recognizes those and always matches its other added tokens",
    )
