"""Check the points that the design document of the C++ tokenizer lists for verification after training."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.cases.loading import load_cases
from tokverify.compare.expectation import agrees
from tokverify.report.train import ChecklistPoint
from tokverify.tokenizer import tokens_of

if TYPE_CHECKING:
    from tokverify.engine.encoder import Encoder

SUITE = "cpp-hybrid"
_LEARNED = "learned"
"""The tag of the points that also depend on the words of the corpus."""


def check_points(encoder: Encoder) -> Iterator[ChecklistPoint]:
    """Yield the twelve points, which are the numbered cases of the suite, with their results."""
    for case in load_cases():
        if case.suite != SUITE or not case.id[:2].isdecimal():
            continue
        ids = encoder.encode(case.text)
        expected = next(iter(case.expect.values()))
        yield ChecklistPoint(
            name=case.id,
            text=case.text,
            tokens=tuple(tokens_of(encoder, ids)),
            expected=expected,
            holds=agrees(expected, encoder, ids),
            is_learned=_LEARNED in case.tags,
        )
