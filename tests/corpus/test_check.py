import pytest

from support.fake_tokenizer import FakeTokenizer
from support.paths import SAMPLE
from support.spec_maker import spec_of
from tokverify.corpus.check import Found, TokenizerChecker
from tokverify.corpus.document import Document
from tokverify.engine.encoder import Encoder
from tokverify.references import load_reference
from tokverify.report.corpus import CorpusCause
from tokverify.sources.gguf.declaration import read_spec
from tokverify.texts.mode import Mode

MODE = Mode(add_special=True, parse_special=True)


def check(actual, expected, *texts, mode=MODE):
    checker = TokenizerChecker(actual, expected, mode, lambda ids, others: (f"{ids} {others}",))
    return checker.check([Document(row, text) for row, text in enumerate(texts)])


def test_only_different_documents_are_classified():
    checked = check(FakeTokenizer("a", "b", "ab"), FakeTokenizer("a", "b"), "aa", "ab", "", "b")
    assert checked.different == [Found(1, ("[2] [0, 1]",), [2], [0, 1])]
    assert list(checked.actual) == [[0, 0], [2], [], [1]]
    assert checked.expected_tokens == 5
    assert checked.failed == []


def test_ids_that_only_move_between_documents_are_a_difference():
    checked = check(FakeTokenizer("a", "b", "aa"), FakeTokenizer("b", "aa", "a"), "a", "aa")
    assert [found.position for found in checked.different] == [0, 1]
    moved = check(FakeTokenizer("x", "a"), FakeTokenizer("a", "x"), "ax", "xa")
    assert [found.position for found in moved.different] == [0, 1]


def test_a_text_that_one_side_cannot_encode_differs_and_one_that_neither_can_is_not_compared():
    checked = check(FakeTokenizer("a"), FakeTokenizer("a", "b"), "a", "b", "c")
    assert checked.different == [Found(1, (CorpusCause.ERROR,), [], [1])]
    assert checked.failed == [(2, "neither side can encode the text")]


def test_a_text_for_which_the_vocabulary_has_no_token_differs_like_one_that_cannot_be_encoded():
    lacking = Encoder(spec_of("bert", ["[CLS]", "[SEP]", "▁a"]))
    mode = Mode(add_special=False, parse_special=True)
    checked = check(lacking, FakeTokenizer("[", "]", "a", "?"), "a", "?", mode=mode)
    assert checked.different == [Found(1, (CorpusCause.ERROR,), [], [3])]
    assert check(lacking, lacking, "a", "?", mode=mode).failed == [(1, "neither side can encode the text")]


def test_options_that_one_side_does_not_support_are_off():
    marked = FakeTokenizer("a", "<s>", "<", "s", ">", special=["<s>"], special_ids={"bos": 1})
    plain = FakeTokenizer("a", "<s>", "<", "s", ">", special=["<s>"], parses_special=False, adds_special=False)
    assert list(check(marked, marked, "a<s>").actual) == [[1, 0, 1]]
    assert list(check(marked, plain, "a", "a<s>").actual) == [[0], [0, 2, 3, 4]]


def test_part_of_a_text():
    checker = TokenizerChecker(FakeTokenizer("a", "aa"), FakeTokenizer("a"), MODE, lambda *_: ("merged",))
    assert checker.differ("a") is None
    assert checker.differ("aa") == Found(0, ("merged",), [1], [0, 0])


@pytest.mark.parametrize("texts", [["Hello wörld", "", "\n\n a"], ["<s>x</s>", "x" * 3000]])
def test_a_model_and_its_own_tokenizer_json(texts):
    encoder = Encoder(read_spec(SAMPLE / "sample.gguf"), "sample")
    checked = check(encoder, load_reference(SAMPLE / "sample.tokenizer.model"), *texts)
    assert checked.different == checked.failed == []
    assert len(checked.actual.ids) == checked.expected_tokens
