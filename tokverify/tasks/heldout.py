"""Compare two tokenizers on generated texts that neither has seen before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokverify.errors import EncodeError, UnsupportedError
from tokverify.fuzz.generator import GENERATORS, make_batch, select_usable
from tokverify.fuzz.sample import vocabulary_of
from tokverify.fuzz.stream import MODES
from tokverify.report.learn import LearnedDifference
from tokverify.tokenizer import BatchEncoding

if TYPE_CHECKING:
    from tokverify.fuzz.sample import Sample
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
    differences = [difference for mode in MODES for difference in _compare(actual, expected, samples, mode)]
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
    actual: Tokenizer, expected: Tokenizer, samples: Sequence[Sample], mode: tuple[bool, bool]
) -> Iterator[LearnedDifference]:
    texts = [sample.text for sample in samples if (sample.add_special, sample.parse_special) == mode]
    ours, theirs = _encode_all(actual, texts, mode), _encode_all(expected, texts, mode)
    for text, our_ids, their_ids in zip(texts, ours, theirs, strict=True):
        if our_ids != their_ids:
            yield LearnedDifference(text, *mode, their_ids, our_ids)


def _encode_all(tokenizer: Tokenizer, texts: Sequence[str], mode: tuple[bool, bool]) -> list[tuple[int, ...] | None]:
    add_special, parse_special = mode
    if isinstance(tokenizer, BatchEncoding):
        results = tokenizer.encode_many(texts, add_special=add_special, parse_special=parse_special)
        return [tuple(ids) if isinstance(ids, list) else None for ids in results]
    return [_encode(tokenizer, text, mode) for text in texts]


def _encode(tokenizer: Tokenizer, text: str, mode: tuple[bool, bool]) -> tuple[int, ...] | None:
    try:
        return tuple(tokenizer.encode(text, add_special=mode[0], parse_special=mode[1]))
    except (EncodeError, UnsupportedError):
        return None
