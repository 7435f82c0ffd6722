"""Encode many samples with two tokenizers and keep only those on which they differ.

Of samples on which both agree, only the ids are recorded, so that tens of thousands of short texts per second can be
tried.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from tokverify.errors import UnsupportedError
from tokverify.fuzz.sample import Sample
from tokverify.report.fuzz import DifferenceKind
from tokverify.text.sequence import common_length
from tokverify.tokenizer import BatchDecoding, BatchEncoding, decoding_of
from tokverify.verify.failure import FAILURES, Failure, combine, name_side
from tokverify.verify.mode import Mode, Modes

if TYPE_CHECKING:
    from tokverify.tokenizer import Tokenizer

_Ids = list[int] | Failure
_Decoded = bytes | Failure


class TrialOutcome(NamedTuple):
    """The outcome of a sample that did not simply match."""

    sample: Sample

    kind: DifferenceKind

    actual: Sequence[int] = ()
    """Ids; for `DECODING`, the bytes that the ids decode to. Empty for errors and skips."""

    expected: Sequence[int] = ()

    message: str = ""
    """The reason for an error or a skip."""

    @property
    def fingerprint(self) -> Hashable:
        """Both sides without their common beginning and end: equal for outcomes with the same cause."""
        start = common_length(self.actual, self.expected)
        actual, expected = self.actual[start:], self.expected[start:]
        end = common_length(actual[::-1], expected[::-1])
        return self.kind, tuple(actual[: len(actual) - end]), tuple(expected[: len(expected) - end]), self.message


@dataclass(frozen=True)
class Trial:
    """Two tokenizers to compare."""

    actual: Tokenizer
    expected: Tokenizer

    decoding: bool = False
    """Whether to compare decoding too."""

    @classmethod
    def of(cls, actual: Tokenizer, expected: Tokenizer, *, decoding: bool = False) -> Trial:
        """Build a trial; against llama.cpp, whose decoding ours must equal, decoding is always compared."""
        return cls(actual, expected, decoding or expected.decodes_as_llama_cpp)

    @cached_property
    def modes(self) -> Modes:
        """Chooses the options with which the two can be compared on a text."""
        return Modes(self.actual, self.expected)

    def with_supported_options(self, sample: Sample) -> Sample:
        """Return the sample with the options with which the two can be compared."""
        return Sample(sample.text, *self.modes.choose(sample.text, Mode(*sample[1:])))

    @property
    def notes(self) -> tuple[str, ...]:
        """A note for each option that cannot always be as the generators ask for it."""
        return self.modes.summary

    def run(self, samples: Sequence[Sample], on_ids: Callable[[list[int]], object] = len) -> list[TrialOutcome | None]:
        """Try samples; the outcome is None if both sides agree. `on_ids` receives the actual ids of each text."""
        samples = [self.with_supported_options(sample) for sample in samples]
        actual, expected = encode_all(self.actual, samples), encode_all(self.expected, samples)
        for ids in actual:
            if isinstance(ids, list):
                on_ids(ids)
        outcomes = [
            None if ids == others else self._outcome(sample, ids, others)
            for sample, ids, others in zip(samples, actual, expected, strict=True)
        ]
        return self._compare_decoding(samples, actual, outcomes) if self.decoding else outcomes

    def outcome(self, sample: Sample) -> TrialOutcome | None:
        """Try one sample."""
        return self.run([sample])[0]

    def _outcome(self, sample: Sample, actual: _Ids, expected: _Ids) -> TrialOutcome | None:
        if isinstance(actual, list) and isinstance(expected, list):
            return TrialOutcome(sample, DifferenceKind.IDS, actual, expected)
        sides = (("actual", self.actual.name, actual), ("expected", self.expected.name, expected))
        failure = combine([name_side(role, name, got) for role, name, got in sides if isinstance(got, FAILURES)])
        kind = DifferenceKind.SKIPPED if isinstance(failure, UnsupportedError) else DifferenceKind.ERROR
        return TrialOutcome(sample, kind, message=str(failure))

    def _compare_decoding(
        self, samples: Sequence[Sample], all_ids: Sequence[_Ids], outcomes: list[TrialOutcome | None]
    ) -> list[TrialOutcome | None]:
        agreed = [at for at, outcome in enumerate(outcomes) if outcome is None]
        ids = [ids for ids in (all_ids[at] for at in agreed) if isinstance(ids, list)]
        actual = decode_all(self.actual, self.expected, ids)
        expected = decode_all(self.expected, self.actual, ids)
        for at, left, right in zip(agreed, actual, expected, strict=True):
            if isinstance(left, bytes) and isinstance(right, bytes):
                if left != right:
                    outcomes[at] = TrialOutcome(samples[at], DifferenceKind.DECODING, left, right)
            elif isinstance(left, bytes) != isinstance(right, bytes):
                message = f"decoding, actual: {left!r}, expected: {right!r}"
                outcomes[at] = TrialOutcome(samples[at], DifferenceKind.DECODING, message=message)
        return outcomes


def encode_all(tokenizer: Tokenizer, samples: Sequence[Sample]) -> list[_Ids]:
    """Encode samples, all samples with the same options in one call if the tokenizer encodes batches."""
    if not isinstance(tokenizer, BatchEncoding):
        return [_encode(tokenizer, sample) for sample in samples]
    results: list[_Ids] = [[]] * len(samples)
    for mode in dict.fromkeys(sample[1:] for sample in samples):
        places = [at for at, sample in enumerate(samples) if sample[1:] == mode]
        texts = [samples[at].text for at in places]
        encoded = tokenizer.encode_many(texts, add_special=mode[0], parse_special=mode[1])
        for at, ids in zip(places, encoded, strict=True):
            results[at] = ids
    return results


def _encode(tokenizer: Tokenizer, sample: Sample) -> _Ids:
    try:
        return tokenizer.encode(sample.text, add_special=sample.add_special, parse_special=sample.parse_special)
    except FAILURES as failure:
        return failure


def decode_all(tokenizer: Tokenizer, other: Tokenizer, all_ids: Sequence[list[int]]) -> list[_Decoded]:
    """Decode lists of ids for a comparison with `other`, in one call if the tokenizer decodes batches."""
    if isinstance(tokenizer, BatchDecoding):
        return [*tokenizer.decode_many(all_ids)]
    decode = decoding_of(tokenizer, other)
    return [_decode(decode, ids) for ids in all_ids]


def _decode(decode: Callable[[Sequence[int]], bytes], ids: list[int]) -> _Decoded:
    try:
        return decode(ids)
    except FAILURES as failure:
        return failure
