"""TL014: llama.cpp sums scores in double precision, sentencepiece in single."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.limits.limit import Counterfactual, limit
from tokverify.compare.limits.sides import Sides
from tokverify.engine.deviation import Deviation
from tokverify.engine.family import Ranking
from tokverify.report.finding import INFO
from tokverify.report.tokenizer_difference import Origin


@limit(code="TL014", name="score-rounding", origin=Origin.RUNTIME, severity=INFO)
def score_rounding(sides: Sides) -> Iterator[Counterfactual]:
    """llama.cpp sums the scores of pieces in double precision, sentencepiece in single precision.

    What llama.cpp does:
        It keeps every digit of a sum. sentencepiece rounds it after each piece, so that two segmentations that differ
        by less than that become equal, and the first one is taken.

    Which models:
        All unigram models that are compared with a sentencepiece model.

    How to live with it:
        Only long stretches of text without spaces are affected, such as hundreds of digits in a row.

    What it does not explain:
        A score that differs between the file and the reference.
    """
    if sides.settings.family.ranking is Ranking.SCORE_SUM and sides.facts.document is None and sides.facts.gguf_spec:
        yield Counterfactual(
            reason="llama.cpp sums scores in double precision, and sentencepiece in single precision",
            sentence="rounding each sum of scores to single precision",
            deviation=Deviation(single_precision=True),
            applies=lambda _: True,
        )
