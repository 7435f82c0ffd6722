"""TL021: whether a text is split at its spaces before the model sees it."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.limits.limit import Counterfactual, limit
from tokverify.compare.limits.sides import Sides
from tokverify.engine.deviation import Deviation
from tokverify.engine.family import Ranking
from tokverify.engine.normalizer import ESCAPED_SPACE, WHITE_SPACE
from tokverify.report.finding import WARNING
from tokverify.report.tokenizer_difference import Origin
from tokverify.text.wording import plural


@limit(code="TL021", name="unsplit-spaces", origin=Origin.RUNTIME, severity=WARNING)
def unsplit_spaces(sides: Sides) -> Iterator[Counterfactual]:
    """llama.cpp does not split texts at spaces before a unigram model encodes them.

    What llama.cpp does:
        Its unigram model gets whole texts, so that a piece such as `▁▁` or `▁of▁the` can stand for several spaces or
        words. With the pre-tokenizer Metaspace, HuggingFace tokenizers split a text before each space unless `split` is
        off, and never use these pieces.

    Which models:
        Unigram models whose tokenizer.json has a Metaspace that splits, and whose vocabulary has pieces with a space
        inside, such as JIUTIAN.

    How to live with it:
        Texts with several spaces in a row, such as code, get other tokens than in training. Give pieces with a space
        inside a very low score in the file if that matters.

    What it does not explain:
        Pieces with a space inside that the reference uses.
    """
    document = sides.facts.document
    is_unigram = sides.settings.family.ranking is Ranking.SCORE_SUM
    stages = document.pre_tokenizer if document and is_unigram else ()
    splits = any(stage["type"] == "Metaspace" and stage["split"] for stage in stages)
    crossing = [id for id, piece in enumerate(sides.settings.pieces) if ESCAPED_SPACE in piece[1:]] if splits else []
    unmatched = [id for id in crossing if id not in sides.added]
    if unmatched:
        count = plural(len(unmatched), "piece")
        yield Counterfactual(
            reason=f"llama.cpp does not split texts at spaces, and so uses {count} with a space inside",
            sentence=f"not using {count} with a space inside, as {sides.facts.name} splits there",
            deviation=Deviation(usable=dict.fromkeys(unmatched, False)),
            # A charsmap makes spaces of other characters.
            applies=lambda target: not target.text.isascii() or WHITE_SPACE.search(target.text) is not None,
        )
