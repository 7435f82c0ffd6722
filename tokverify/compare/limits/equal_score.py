"""TL025: a reference that is rebuilt from the file cannot merge pieces of equal score as llama.cpp does."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.limits.limit import Counterfactual, limit
from tokverify.compare.limits.sides import Sides
from tokverify.engine.deviation import Deviation
from tokverify.references.rebuilt import count_tied, merges_by_score
from tokverify.report.finding import INFO
from tokverify.report.tokenizer_difference import Origin


@limit(code="TL025", name="equal-score", origin=Origin.RUNTIME, severity=INFO)
def equal_score(sides: Sides) -> Iterator[Counterfactual]:
    """Pieces with equal scores are merged from left to right; a reference rebuilt from the file must put them in order.

    What llama.cpp does:
        Of several pairs of neighbors that form pieces, it merges the one with the best score; if their scores are
        equal, the first one in the text, as sentencepiece does. The library that encodes with the file's own data has
        ranks of merges, which are never equal.

    Which models:
        SPM models with pieces of equal scores, if no tokenizer was found to compare with.

    How to live with it:
        Name the tokenizer that the model was trained with: `-r`.

    What it does not explain:
        Scores that differ from those of such a tokenizer.
    """
    if sides.facts.is_rebuilt and count_tied(sides.spec, sides.settings):
        merges = merges_by_score(sides.spec, sides.settings)
        yield Counterfactual(
            reason="llama.cpp merges pieces of equal score from left to right, and the rebuilt reference in one order",
            sentence="merging pieces of equal score in the order of the rebuilt reference",
            deviation=Deviation(merge_ranks={" ".join(pair): rank for rank, pair in enumerate(merges)}),
        )
