"""Scores of a unigram tokenizer are fitted to ids, and then hold for words that were not used."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from support.bare_tokenizer import Bare
from support.made_vocabulary import unigram
from tokverify.engine.encoder import Encoder
from tokverify.repair.probe.convention import falling_scores, normal_ids
from tokverify.repair.probe.score_fitting import fit_scores
from tokverify.spec import TokenizerSpec
from tokverify.texts.batch import Queries


def new_words(spec: TokenizerSpec, count: int) -> list[str]:
    random = Random(99)  # noqa: S311 - for the same words each time
    pieces = [spec.tokens[id].replace("▁", "") for id in normal_ids(spec)]
    return ["".join(random.choices(pieces, k=3)) for _ in range(count)]


def share_of_equal(spec: TokenizerSpec, reference: Encoder, words: list[str]) -> float:
    encoder = Encoder(spec)
    return sum(encoder.encode(word) == reference.encode(word) for word in words) / len(words)


def guessed(spec: TokenizerSpec) -> list[float]:
    return falling_scores(len(spec.tokens), normal_ids(spec))


def squared(spec: TokenizerSpec) -> list[float]:
    return [-score * score for score in spec.scores]


@pytest.mark.parametrize(("scores", "before", "after"), [(guessed, 0.98, 0.99), (squared, 0.8, 0.97)])
def test_fitted_scores_segment_new_words_as_the_reference_does(
    scores: Callable[[TokenizerSpec], list[float]], before: float, after: float
):
    right = unigram()
    reference = Encoder(right)
    guess = replace(right, scores=scores(right))
    queries = Queries(reference)
    fitted = fit_scores(queries, guess)
    words = new_words(right, 2_000)
    assert share_of_equal(guess, reference, words) < before
    assert share_of_equal(fitted, reference, words) > after
    assert queries.count < 10


def test_right_scores_stay_as_they_are():
    right = unigram()
    assert fit_scores(Queries(Encoder(right)), right).scores == list(right.scores)


def test_ids_outside_the_vocabulary_are_not_fitted():
    class Unlisted(Bare):
        def encode(self, text: str, **modes: bool) -> list[int]:
            return [*super().encode(text, **modes)[:-1], self.vocab_size]

    spec = unigram()
    assert list(fit_scores(Queries(Unlisted(Encoder(spec))), spec).scores) == list(spec.scores)
