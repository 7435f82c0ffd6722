import unicodedata
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import made_vocabulary
from support.fake_tokenizer import FakeTokenizer
from support.spec_maker import spm_spec
from tokverify.corpus import cause
from tokverify.corpus.cause import MAX_IDS, Classifier, Window, _find_agreement, compare_texts, find_windows
from tokverify.engine.encoder import Encoder
from tokverify.report.corpus import CorpusCause
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
    ("flags", "other_flags", "found"),
    [
        ({"add_bos": False}, {"add_bos": True}, CorpusCause.BOS_MISSING),
        ({"add_bos": True}, {"add_bos": False}, CorpusCause.BOS_EXTRA),
        ({"add_eos": False}, {"add_eos": True}, CorpusCause.EOS_MISSING),
        ({"add_eos": True}, {"add_eos": False}, CorpusCause.EOS_EXTRA),
        ({"add_space_prefix": False}, {"add_space_prefix": True}, CorpusCause.SPACES),
    ],
)
def test_a_setting_that_differs(spm, flags, other_flags, found):
    assert causes(replace(spm, **flags), replace(spm, **other_flags)) == (found,)


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
    ("actual", "expected", "found"),
    [
        ("é", "e\u0301", CorpusCause.NORMALIZATION),
        ("ﬁ", "fi", CorpusCause.NORMALIZATION),
        (" a b", "ab", CorpusCause.SPACES),
        ("Zürich", "zurich", CorpusCause.CASE),
        ("a", "b", CorpusCause.OTHER),
        ("a", "", CorpusCause.OTHER),
    ],
)
def test_texts_that_differ(actual, expected, found):
    assert compare_texts(actual, expected) is found


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


@given(st.lists(st.integers(0, 9), max_size=90), st.lists(st.integers(0, 9), max_size=90))
def test_agreement_is_found_where_a_complete_search_finds_it(actual: list[int], expected: list[int]):
    lengths = _find_agreement(actual, expected)
    triples = [[tuple(ids[at : at + 3]) for at in range(len(ids) - 2)] for ids in (actual, expected)]
    places = ((here, there) for here, ids in enumerate(triples[0]) for there in _places(triples[1], ids))
    best = min(places, key=sum, default=None)
    if best:
        assert lengths is not None
        assert sum(lengths) == sum(best)
        assert triples[0][lengths[0]] == triples[1][lengths[1]]


def _places(triples: Sequence[tuple[int, ...]], ids: tuple[int, ...]) -> list[int]:
    return [at for at, others in enumerate(triples) if others == ids]


def test_long_stretches_are_compared_at_their_beginning(monkeypatch, bpe):
    """Two unrelated vocabularies differ in whole documents; few ids of each are enough to say why."""
    contexts: list[str] = []
    monkeypatch.setattr(cause, "pre_tokens_differ", lambda *arguments: contexts.append(arguments[2]) or False)
    other = replace(bpe, tokens=bpe.tokens[::-1], types=bpe.types[::-1], merges=bpe.merges[:9])
    assert causes(bpe, other, TEXT * 100) == (CorpusCause.SEGMENTATION,)
    assert len(contexts) == 1
    assert TEXT.startswith(contexts[0][: len(TEXT)])
    assert len(contexts[0]) < 5 * len(TEXT)


def test_causes_of_long_stretches_are_not_kept_in_memory(bpe):
    actual, expected = (Encoder(replace(bpe, tokens=tokens)) for tokens in (bpe.tokens, bpe.tokens[::-1]))
    classifier = Classifier(actual, expected)
    for number in range(20):
        ids = [side.encode(f"{number} {TEXT * 50}") for side in (actual, expected)]
        assert classifier.classify(*ids)
    assert classifier._remember_cause.cache_info().currsize == 0
