"""Probes of tokenizers that are small enough to know the right results."""

import string

import pytest

from support.fake_tokenizer import FakeTokenizer
from support.spec_maker import bpe_spec, spm_spec
from tokverify.engine.encoder import Encoder
from tokverify.explain.stats.probe import compare_with_english, probe

LETTERS = (*string.ascii_letters, " ", "\n")


def test_numbers_of_one_token_are_counted():
    found = probe(FakeTokenizer(*LETTERS, *string.digits, "42", "100", "1000"))
    assert found.single_numbers == 12
    # 1,003 numbers of four to six digits, one of which begins with "1000".
    assert 4 < found.tokens_per_long_number < 6


def test_a_space_put_before_a_number_does_not_count():
    encoder = Encoder(spm_spec({"▁": 0.0, **dict.fromkeys(string.digits, -1.0), "▁7": 1.0}, add_space_prefix=True))
    assert [encoder.piece(id) for id in encoder.encode("8")] == ["▁", "8"]
    assert probe(encoder).single_numbers == 10


def test_numbers_that_are_lost_are_not_counted():
    assert probe(FakeTokenizer(*LETTERS)).single_numbers is None
    assert probe(FakeTokenizer(*LETTERS)).tokens_per_long_number is None


def test_an_indentation_with_one_token_per_space_is_measured():
    found = probe(FakeTokenizer(*LETTERS))
    assert found.indentation == {width: width for width in range(1, 17)}
    assert found.spaces_per_token == 1.0


def test_runs_of_spaces_are_fewer_tokens():
    found = probe(FakeTokenizer(*LETTERS, "    ", "\n  ", " b"))
    # A newline with two spaces, then four at a time, then one each; the last one may be a part of the word.
    assert [found.indentation[width] for width in (1, 2, 3, 6, 7)] == [1, 1, 2, 2, 3]


def test_indentation_that_is_not_kept_is_not_measured():
    class Collapsing(FakeTokenizer):
        def encode(self, text, **options):
            return super().encode(" ".join(text.split()), **options)

    found = probe(Collapsing(*LETTERS))
    assert (found.indentation, found.spaces_per_token, found.trailing_space) == (None, None, None)


@pytest.mark.parametrize(("pieces", "alone"), [((), False), ((" dog",), True), ((" d",), True)])
def test_a_space_at_the_end_of_a_prompt(pieces, alone):
    assert probe(FakeTokenizer(*LETTERS, *pieces)).trailing_space is alone


def test_languages_are_compared_with_english_unless_they_are_unknown():
    encoder = Encoder(bpe_spec([]))
    found = probe(encoder).against_english
    assert "English" not in found
    assert found["Hindi"] == pytest.approx(961 / 403)
    assert probe(encoder, unknown={encoder.encode("न")[0]}).against_english.keys() == found.keys() - {"Hindi"}
    assert probe(encoder, unknown={encoder.encode("e")[0]}).against_english is None
    assert probe(FakeTokenizer("a")).against_english is None


def test_the_mean_leaves_english_out():
    assert compare_with_english({"English": 5, "Thai": 10, "Lao": 20}) == {"Thai": 2.0, "Lao": 4.0}
    assert compare_with_english({"English": 5}) == {}
    assert compare_with_english(None) is None
    found = probe(Encoder(bpe_spec([])))
    assert found.mean_against_english == pytest.approx(sum(found.against_english.values()) / 9)
