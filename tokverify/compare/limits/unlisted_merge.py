"""TL022: llama.cpp's model `llama` merges by one score for each piece, and knows no pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokverify.compare.limits.limit import Counterfactual, limit
from tokverify.compare.limits.sides import Sides
from tokverify.engine.deviation import Deviation
from tokverify.engine.family import Ranking
from tokverify.report.finding import WARNING
from tokverify.report.tokenizer_difference import Origin
from tokverify.sources.huggingface.bpe import join_merges
from tokverify.sources.huggingface.conversion import NEAREST_SCORES


@limit(code="TL022", name="unlisted-merge", origin=Origin.RUNTIME, severity=WARNING)
def unlisted_merge(sides: Sides) -> Iterator[Counterfactual]:
    """llama.cpp merges all neighbors that form a piece, while the reference merges only the pairs that it lists.

    What llama.cpp does:
        Its model `llama` has one score for each piece: whichever two neighbors form it are merged, in descending order
        of scores. BPE in HuggingFace tokenizers has ranks for pairs, so that one piece can be formed by some pairs
        and not by others, or by each at another time. GGUF's other models for such pieces do not fit either.

    Which models:
        Those whose tokenizer.json was trained or extended by other programs than sentencepiece, with `▁` for spaces.

    How to live with it:
        Use a runtime that reads the tokenizer.json. If the model also has a `tokenizer.model`, convert that.

    What it does not explain:
        Scores in the file that are in another order than those of the first merge for each piece.
    """
    scores = sides.spec.scores
    if sides.settings.family.ranking is not Ranking.SCORE or scores is None:
        return
    document, nearest = sides.facts.document, sides.facts.spec
    if document is None or nearest is None:
        return
    if NEAREST_SCORES not in nearest.left_out or _order(scores) != _order(nearest.scores or ()):
        return
    yield Counterfactual(
        reason="llama.cpp merges all neighbors that form a piece, and not only the pairs that the reference lists",
        sentence="merging only the pairs that the reference lists, in their order",
        deviation=Deviation(merge_ranks={merge: rank for rank, merge in enumerate(join_merges(document))}),
    )


def _order(scores: Sequence[float]) -> list[int]:
    return sorted(range(len(scores)), key=lambda id: -scores[id])
