"""Encode many samples with two tokenizers and keep only those on which they differ.

Of samples on which both agree, only the ids are recorded, so that tens of thousands of short texts per second can be
tried.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from tokverify.errors import UnsupportedError
from tokverify.report.fuzz import DifferenceKind
from tokverify.text.sequence import common_ends
from tokverify.texts.batch import FAILURES, Encoded, combine, decode_all, encode_all, name_side
from tokverify.texts.mode import Modes
from tokverify.texts.sample import Sample
from tokverify.tokenizer import Tokenizer


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
        start, end = common_ends(self.actual, self.expected)
        actual, expected = (tuple(side[start : len(side) - end]) for side in (self.actual, self.expected))
        return self.kind, actual, expected, self.message


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
        return Sample(sample.text, *self.modes.choose(sample.text, sample.mode))

    @property
    def notes(self) -> tuple[str, ...]:
        """A note for each option that cannot always be as the generators ask for it."""
        return self.modes.summary

    def run(self, samples: Sequence[Sample], on_ids: Callable[[list[int]], object] = len) -> list[TrialOutcome | None]:
        """Try samples; the outcome is None if both sides agree. `on_ids` receives the actual ids of each text."""
        samples = [self.with_supported_options(sample) for sample in samples]
        texts, modes = [sample.text for sample in samples], [sample.mode for sample in samples]
        actual, expected = encode_all(self.actual, texts, modes), encode_all(self.expected, texts, modes)
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

    def _outcome(self, sample: Sample, actual: Encoded, expected: Encoded) -> TrialOutcome | None:
        if isinstance(actual, list) and isinstance(expected, list):
            return TrialOutcome(sample, DifferenceKind.IDS, actual, expected)
        sides = ((f"actual ({self.actual.name})", actual), (f"expected ({self.expected.name})", expected))
        failure = combine([name_side(side, got) for side, got in sides if isinstance(got, FAILURES)])
        kind = DifferenceKind.SKIPPED if isinstance(failure, UnsupportedError) else DifferenceKind.ERROR
        return TrialOutcome(sample, kind, message=str(failure))

    def _compare_decoding(
        self, samples: Sequence[Sample], all_ids: Sequence[Encoded], outcomes: list[TrialOutcome | None]
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
