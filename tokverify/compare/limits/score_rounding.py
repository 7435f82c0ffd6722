"""TL014: llama.cpp, sentencepiece and HuggingFace tokenizers round scores and their sums in different places."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache

from tokverify.compare.limits.limit import Counterfactual, limit
from tokverify.compare.limits.sides import Sides
from tokverify.compare.opened import Opened
from tokverify.engine.deviation import Deviation
from tokverify.engine.family import Ranking
from tokverify.report.finding import INFO
from tokverify.report.tokenizer_difference import Origin


@limit(code="TL014", name="score-rounding", origin=Origin.RUNTIME, severity=INFO)
def score_rounding(sides: Sides) -> Iterator[Counterfactual]:
    """Scores and their sums are rounded in other places: llama.cpp sums in double precision, sentencepiece in single.

    What llama.cpp does:
        It reads scores in single precision, and keeps every digit of their sum. sentencepiece rounds the sum after each
        piece; HuggingFace tokenizers reads the scores in double precision. So two segmentations that differ by less
        than that can be equal on one side only, and the first one is taken there.

    Which models:
        All unigram models.

    How to live with it:
        Mostly long stretches of text without spaces are affected, such as hundreds of digits in a row.

    What it does not explain:
        A score of the reference that is another one when it is rounded.
    """
    if sides.settings.family.ranking is not Ranking.SCORE_SUM:
        return
    if sides.facts.document:
        scores = _scores_of(sides.facts)
        stored = array("f", sides.spec.scores or ())[: len(scores)]
        if array("f", scores) == stored and list(stored) != scores:
            yield Counterfactual(
                reason="GGUF stores scores in single precision, and the reference in double precision",
                sentence="reading the reference's scores in double precision",
                deviation=Deviation(scores=_read_as_library(sides.facts)),
            )
    elif sides.facts.gguf_spec:
        yield Counterfactual(
            reason="llama.cpp sums scores in double precision, and sentencepiece in single precision",
            sentence="rounding each sum of scores to single precision",
            deviation=Deviation(single_precision=True),
        )


# Many variants of a file are compared with one reference.
@lru_cache(maxsize=1)
def _scores_of(facts: Opened) -> Sequence[float]:
    # The model of the file may be wrong, or one that is only tried: BPE has no scores.
    document = facts.document
    vocab = document.tables.vocab if document and document.model_type == "Unigram" else ()
    return [float(score) for _, score in vocab]


@lru_cache(maxsize=1)
def _read_as_library(facts: Opened) -> Sequence[float]:
    return list(map(_as_library_reads, _scores_of(facts)))


def _as_library_reads(score: float) -> float:
    """Return a number as HuggingFace tokenizers reads it from JSON: all its digits, divided by a power of ten.

    subtle: that can be off by one unit in the last place.
    """
    digits, _, exponent = repr(score).partition("e")
    whole, _, fraction = digits.partition(".")
    shift = int(exponent or 0) - len(fraction)
    number = float(int(whole + fraction))
    return number * 10.0**shift if shift >= 0 else number / 10.0**-shift
