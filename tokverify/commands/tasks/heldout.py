"""Compare two tokenizers on generated texts that neither has seen before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tokverify.report.learn import LearnedDifference
from tokverify.texts.batch import encode_all, ids_or_none
from tokverify.texts.generator import GENERATORS, make_batch, select_usable
from tokverify.texts.mode import Mode
from tokverify.texts.sample import Sample, vocabulary_of
from tokverify.texts.stream import MODES
from tokverify.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Heldout:
    """The result of a comparison."""

    texts: int
    differences: tuple[LearnedDifference, ...]
    """The shortest first."""


def compare_on_generated_texts(actual: Tokenizer, expected: Tokenizer, *, count: int, seed: int) -> Heldout:
    """Compare the ids of `count` generated texts; the same seed generates the same texts for the same vocabulary.

    A mode in which the reference cannot encode is left out: parsing special tokens, or adding some.
    """
    samples = [_adapt(sample, expected) for sample in _make_samples(actual, count, seed)]
    differences = [difference for mode in MODES for difference in _compare(actual, expected, samples, Mode(*mode))]
    differences.sort(key=lambda difference: (len(difference.text), difference.text))
    return Heldout(len(samples), tuple(differences))


def _make_samples(tokenizer: Tokenizer, count: int, seed: int) -> list[Sample]:
    vocabulary = vocabulary_of(tokenizer)
    names = select_usable(list(GENERATORS), vocabulary)
    samples: list[Sample] = []
    while len(samples) < count:
        # The texts of a batch depend only on its number and the seed.
        samples += make_batch(names, vocabulary, seed, len(samples))
    return samples[:count]


def _adapt(sample: Sample, expected: Tokenizer) -> Sample:
    return sample._replace(
        add_special=sample.add_special and expected.adds_special,
        parse_special=sample.parse_special and expected.parses_special,
    )


def _compare(
    actual: Tokenizer, expected: Tokenizer, samples: Sequence[Sample], mode: Mode
) -> Iterator[LearnedDifference]:
    texts = [sample.text for sample in samples if sample.mode == mode]
    modes = [mode] * len(texts)
    ours, theirs = (map(ids_or_none, encode_all(side, texts, modes)) for side in (actual, expected))
    for text, our_ids, their_ids in zip(texts, ours, theirs, strict=True):
        if our_ids != their_ids:
            yield LearnedDifference(text, *mode, their_ids, our_ids)
