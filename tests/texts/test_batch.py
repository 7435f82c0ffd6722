import pytest

from support.fake_tokenizer import FakeTokenizer
from tokverify.case import Case
from tokverify.compare.comparison import verify_tokenizers
from tokverify.errors import EncodeError, UnsupportedError
from tokverify.report.run import Status
from tokverify.texts.batch import Answers, Known, decode_all, encode_all, ids_or_none
from tokverify.texts.mode import Mode

PLAIN, SPECIAL = Mode(False, True), Mode(True, True)


class Batched(FakeTokenizer):
    """Encodes many texts in one call, and notes the calls."""

    def encode_many(self, texts, *, add_special, parse_special):
        self.calls.append((tuple(texts), add_special, parse_special))
        return [self._one(text, add_special, parse_special) for text in texts]

    def _one(self, text, add_special, parse_special):
        try:
            return FakeTokenizer(*self.pieces, special_ids=self.special_ids).encode(
                text, add_special=add_special, parse_special=parse_special
            )
        except EncodeError as error:
            return error


class Decoding(FakeTokenizer):
    """Decodes many lists of ids in one call, and notes the calls."""

    def decode_many(self, all_ids):
        self.calls.append(tuple(all_ids))
        if any(9 in ids for ids in all_ids):
            raise UnsupportedError("does not decode")
        return [EncodeError("cannot") if 2 in ids else self.decode(ids) for ids in all_ids]


def test_many_texts_of_the_same_options_are_encoded_in_one_call():
    tokenizer = Batched("a", "b", special_ids={"bos": 9})
    ids = encode_all(tokenizer, ["a", "b", "c", "ab"], [PLAIN, SPECIAL, PLAIN, SPECIAL])
    assert tokenizer.calls == [(("a", "c"), False, True), (("b", "ab"), True, True)]
    assert [ids[0], ids[1], ids[3]] == [[0], [9, 1], [9, 0, 1]]
    assert isinstance(ids[2], EncodeError)


def test_a_tokenizer_that_decodes_nothing_fails_for_every_list():
    results = decode_all(Decoding("a"), FakeTokenizer("a"), [(0,), (9,)])
    assert list(map(str, results)) == ["does not decode"] * 2


def test_a_text_is_encoded_once_for_all_comparisons_that_share_what_is_known():
    tokenizer, known = Batched("a", "b"), Known()
    for _ in range(2):
        answers = Answers(tokenizer, tokenizer, "expected (fake)", known)
        assert answers.encode_all(["a", "b", "a"], [PLAIN] * 3) == [[0], [1], [0]]
        assert answers.ids("b", PLAIN) == (1,)
    assert [texts for texts, *_ in tokenizer.calls if texts] == [("a", "b")]


@pytest.mark.parametrize(("known", "calls"), [(Known(), [((0,), (1,)), ()]), (None, [((0,), (1,)), ((0,),)])])
def test_ids_are_decoded_once_for_all_comparisons_that_share_what_is_known(known, calls):
    tokenizer = Decoding("a", "b")
    answers = Answers(tokenizer, FakeTokenizer("a", "b"), "expected (fake)", known)
    answers.decode_all([[0], [1]])
    answers.decode_all([[0]])
    assert answers.text((0,)) == b"a"
    assert tokenizer.calls == calls


def test_a_failure_names_the_side():
    tokenizer = Decoding("a", "b")
    answers = Answers(tokenizer, tokenizer, "actual (fake)")
    answers.encode_all(["c"], [PLAIN])
    answers.decode_all([[0], [2]])
    assert answers.text((0,)) == b"a"
    with pytest.raises(EncodeError, match=r"^actual \(fake\): cannot$"):
        answers.text((2,))
    with pytest.raises(EncodeError, match=r"^actual \(fake\): "):
        answers.ids("c", PLAIN)


def test_cases_are_compared_in_few_calls_and_those_with_lone_surrogates_are_not_asked_for():
    actual, expected = Batched("a", "b"), Batched("a", "b")
    texts = ["a" * count for count in range(1, 101)] + ["\ud800"]
    cases = [Case(id=str(at), text=text, suite="s") for at, text in enumerate(texts)]
    report = verify_tokenizers(actual, expected, cases)
    assert [result.status for result in report.results] == [Status.MATCH] * 100 + [Status.ERROR]
    for tokenizer in (actual, expected):
        asked = [call[0] for call in tokenizer.calls if isinstance(call, tuple)]
        assert len(asked) == 4
        assert [text for batch in asked for text in batch] == texts[:-1]


class Raising(Decoding):
    """Raises an error instead of returning it for each item."""

    def encode_many(self, texts, *, add_special, parse_special):
        raise UnsupportedError(f"cannot encode {len(texts)} texts")

    def decode_many(self, all_ids):
        raise EncodeError(f"cannot decode {len(all_ids)} lists")


def test_an_error_of_a_whole_call_is_that_of_each_item():
    tokenizer = Raising("a")
    encoded = encode_all(tokenizer, ["a", "b", "a"], [PLAIN, PLAIN, SPECIAL])
    assert list(map(str, encoded)) == ["cannot encode 2 texts"] * 2 + ["cannot encode 1 texts"]
    assert list(map(str, decode_all(tokenizer, tokenizer, [(0,), ()]))) == ["cannot decode 2 lists"] * 2


class LlamaCpp(FakeTokenizer):
    decodes_as_llama_cpp = True


class BothWays(Decoding):
    def decode_as_llama_cpp(self, ids):
        return b"as llama.cpp: " + self.decode(ids)


def test_lists_are_decoded_in_the_way_of_the_other_tokenizer():
    tokenizer = BothWays("a")
    assert decode_all(tokenizer, LlamaCpp("a"), [(0,)]) == [b"as llama.cpp: a"]
    assert decode_all(tokenizer, FakeTokenizer("a"), [(0,)]) == [b"a"]
    assert tokenizer.calls == [((0,),)]


class Tuples(FakeTokenizer):
    """Encodes to other sequences than lists."""

    def encode(self, text, *, add_special, parse_special):
        return tuple(super().encode(text, add_special=add_special, parse_special=parse_special))


def test_ids_need_not_be_a_list():
    expected = Tuples("a", "b")
    report = verify_tokenizers(FakeTokenizer("a", "b"), expected, [Case(id="c", text="ab", suite="s")])
    assert [(result.status, result.notes) for result in report.results] == [(Status.MATCH, ())]
    assert list(map(ids_or_none, encode_all(expected, ["ab", "c"], [PLAIN] * 2))) == [(0, 1), None]
