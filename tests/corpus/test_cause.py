import unicodedata
from collections.abc import Sequence
from dataclasses import replace

import pytest

from support import made_vocabulary
from support.fake_tokenizer import FakeTokenizer
from support.spec_maker import spm_spec
from tokverify.corpus.cause import Classifier, compare_texts
from tokverify.corpus.window import MAX_IDS, Window, find_windows
from tokverify.engine.encoder import Encoder
from tokverify.report.corpus_cause import MEANINGS, CorpusCause
from tokverify.spec import TokenizerSpec, TokenType

TEXT = "The weather in Zürich was fine, with 12345 people outside."


class Normalizing:
    """An encoder that converts texts to another Unicode form first, as many references do."""

    def __init__(self, encoder: Encoder, form: str) -> None:
        self._encoder, self._form = encoder, form

    def __getattr__(self, name: str) -> object:
        return getattr(self._encoder, name)

    def encode(self, text: str, **mode: bool) -> list[int]:
        return self._encoder.encode(unicodedata.normalize(self._form, text), **mode)


@pytest.fixture(scope="module")
def bpe() -> TokenizerSpec:
    return made_vocabulary.bpe()


@pytest.fixture(scope="module")
def spm() -> TokenizerSpec:
    return made_vocabulary.spm()


def causes(actual: object, expected: object, text: str = TEXT) -> tuple[CorpusCause, ...]:
    sides = [side if not isinstance(side, TokenizerSpec) else Encoder(side) for side in (actual, expected)]
    ids = [side.encode(text, add_special=True, parse_special=True) for side in sides]
    return Classifier(*sides).classify(*ids)


def test_equal_ids_have_no_cause(spm):
    assert causes(spm, spm) == ()


@pytest.mark.parametrize(
    ("flags", "other_flags", "cause"),
    [
        ({"add_bos": False}, {"add_bos": True}, CorpusCause.BOS_MISSING),
        ({"add_bos": True}, {"add_bos": False}, CorpusCause.BOS_EXTRA),
        ({"add_eos": False}, {"add_eos": True}, CorpusCause.EOS_MISSING),
        ({"add_eos": True}, {"add_eos": False}, CorpusCause.EOS_EXTRA),
        ({"add_space_prefix": False}, {"add_space_prefix": True}, CorpusCause.SPACES),
    ],
)
def test_a_setting_that_differs(spm, flags, other_flags, cause):
    assert causes(replace(spm, **flags), replace(spm, **other_flags)) == (cause,)


def test_doubled_bos_and_eos(spm):
    actual = expected = Encoder(spm)
    bos, eos = (spm.special_ids[role] for role in ("bos", "eos"))
    ids = expected.encode("hello")
    find = Classifier(actual, expected).classify
    assert find([bos, bos, *ids, eos, eos], [bos, *ids, eos]) == (CorpusCause.BOS_DOUBLED, CorpusCause.EOS_DOUBLED)
    assert find([bos], [bos, eos]) == (CorpusCause.EOS_MISSING,)


def test_a_lost_bos_does_not_hide_another_cause(spm):
    other_form = Normalizing(Encoder(replace(spm, add_bos=True)), "NFD")
    found = causes(replace(spm, add_bos=False), other_form)
    assert found == (CorpusCause.BOS_MISSING, CorpusCause.NORMALIZATION)


def test_another_unicode_form(bpe):
    assert causes(bpe, Normalizing(Encoder(bpe), "NFD")) == (CorpusCause.NORMALIZATION,)


def test_lost_type_of_an_added_token(bpe):
    id = len(bpe.tokens)
    marked = replace(bpe, tokens=[*bpe.tokens, "<|note|>"], types=[*bpe.types, TokenType.CONTROL.value])
    plain = replace(marked, types=[*bpe.types, TokenType.NORMAL.value])
    assert id in Encoder(marked).encode("hello<|note|>")
    assert causes(plain, marked, "hello<|note|>") == (CorpusCause.ADDED_TOKEN,)


def test_another_pre_tokenizer(bpe):
    text = "Prices: 100000 and 2000000 can't be 'THE same\n\n  x"
    assert causes(replace(bpe, pre="qwen2"), replace(bpe, pre="gpt-2"), text) == (CorpusCause.PRE_TOKENIZATION,)


def test_other_merges_within_the_same_pre_token(bpe):
    merges = list(bpe.merges)
    merges[:40] = merges[39::-1]
    assert causes(replace(bpe, merges=merges), bpe) == (CorpusCause.SEGMENTATION,)


def test_pieces_with_other_ids(bpe):
    tokens = list(bpe.tokens)
    first, second = Encoder(bpe).encode(TEXT)[:2]
    tokens[first], tokens[second] = tokens[second], tokens[first]
    assert causes(replace(bpe, tokens=tokens), bpe) == (CorpusCause.IDS,)


def test_byte_fallback():
    actual, expected = spm_spec({"a": -1.0}), spm_spec({"a": -1.0, "é": -2.0})
    assert causes(actual, expected, "aéa") == (CorpusCause.BYTE_FALLBACK,)


def test_unknown_tokens():
    pieces = ("<unk>", "a", "b", "é", "▁")
    actual, expected = (FakeTokenizer(*pieces, special_ids={"unk": 0}) for _ in range(2))
    find = Classifier(actual, expected).classify
    assert find([1, 0, 2], [1, 3, 2]) == (CorpusCause.UNKNOWN,)
    assert find([1, 4, 2], [1, 2]) == (CorpusCause.SPACES,)
    assert find([1, 99, 2], [1, 3, 2]) == (CorpusCause.OTHER,)


@pytest.mark.parametrize(
    ("actual", "expected", "cause"),
    [
        ("é", "e\u0301", CorpusCause.NORMALIZATION),
        ("ﬁ", "fi", CorpusCause.NORMALIZATION),
        (" a b", "ab", CorpusCause.SPACES),
        ("Zürich", "zurich", CorpusCause.CASE),
        ("a", "b", CorpusCause.OTHER),
        ("a", "", CorpusCause.OTHER),
    ],
)
def test_texts_that_differ(actual, expected, cause):
    assert compare_texts(actual, expected) is cause


@pytest.mark.parametrize(
    ("actual", "expected", "windows"),
    [
        ([1, 2, 3], [1, 2, 3], []),
        ([1, 2], [1, 2, 3], [Window(2, 2, 2, 3)]),
        ([9, 1, 2, 3], [1, 2, 3], [Window(0, 1, 0, 0)]),
        ([1, 2, 9, 4, 5, 6], [1, 2, 7, 8, 4, 5, 6], [Window(2, 3, 2, 4)]),
        ([9, 1, 2, 3, 4, 8], [1, 2, 3, 4], [Window(0, 1, 0, 0), Window(5, 6, 4, 4)]),
        ([1, 9, 5], [1, 7, 5], [Window(1, 2, 1, 2)]),
    ],
)
def test_windows_by_hand(actual, expected, windows):
    assert list(find_windows(actual, expected)) == windows


def test_windows_turn_one_side_into_the_other():
    actual: Sequence[int] = [*range(1000), 5, *range(2000, 4000, 2), 7]
    expected: Sequence[int] = [*range(10), *range(20, 900), 6, *range(2001, 4000, 2), 7]
    rebuilt: list[int] = []
    done = 0
    for window in find_windows(actual, expected):
        rebuilt += actual[done : window.actual_start]
        rebuilt += expected[window.expected_start : window.expected_end]
        done = window.actual_end
    assert [*rebuilt, *actual[done:]] == expected


def test_the_search_for_agreement_is_limited():
    actual = [*range(3 * MAX_IDS), -1, -2, -3]
    expected = [*range(5000, 5000 + 3 * MAX_IDS), -1, -2, -3]
    assert list(find_windows(actual, expected)) == [Window(0, 3 * MAX_IDS, 0, 3 * MAX_IDS)]


def test_every_cause_has_a_meaning():
    assert list(MEANINGS) == list(CorpusCause)
