"""The few characters that HuggingFace and llama.cpp split differently, compared with the library."""

import pytest
from tokenizers import Regex, normalizers, pre_tokenizers

from tokverify.engine.normalizer import split_at_spaces, word_normalizer
from tokverify.engine.word_splitting import DROPPED, PUNCTUATION, SPACES, UNEQUAL, first_difference

KEEPING = {"lowercase": False, "strip_accents": False}


def cutter(spaces=SPACES, dropped=DROPPED, punctuation=PUNCTUATION):
    normalizer = normalizers.Sequence(
        [
            normalizers.Replace(Regex(spaces), " "),
            normalizers.Replace(Regex(dropped), ""),
            normalizers.BertNormalizer(**KEEPING),
        ]
    )
    cut = pre_tokenizers.Sequence(
        [pre_tokenizers.BertPreTokenizer(), pre_tokenizers.Split(Regex(punctuation), "isolated")]
    )
    return lambda text: [word for word, _ in cut.pre_tokenize_str(normalizer.normalize_str(text))]


def test_both_split_every_character_in_the_same_way_with_these_patterns():
    assert first_difference(cutter(), **KEEPING, ignored=UNEQUAL[1:]) is None


@pytest.mark.parametrize(
    ("change", "character"),
    [
        ({"spaces": "[\f]"}, "\v"),
        ({"dropped": "[\u0890]"}, "\u0891"),
        ({"punctuation": "[\u061d]"}, "\u09fd"),
    ],
)
def test_each_condition_is_needed(change, character: str):
    assert first_difference(cutter(**change), **KEEPING, ignored=UNEQUAL) == character


def test_the_unequal_characters_remain_unequal():
    # Where this fails, a new tokenizers has a newer Unicode: the lists can become shorter.
    assert first_difference(cutter(), **KEEPING) == UNEQUAL[1]
    assert first_difference(cutter(), **KEEPING, ignored=UNEQUAL[1]) == UNEQUAL[2]


def test_lowercase_and_accents_are_compared_with_llama_cpps():
    normalize = word_normalizer(lowercase=True, strip_accents=True)
    own = lambda text: split_at_spaces(normalize(text))  # noqa: E731
    assert first_difference(own, lowercase=True, strip_accents=True) is None
    assert first_difference(own, lowercase=False, strip_accents=True) == "A"
    assert first_difference(own, lowercase=True, strip_accents=False) == "À"
