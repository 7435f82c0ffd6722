"""TL018: llama.cpp adds at most one token before a text and one after it."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.affix import affixes_of, cannot_add
from tokverify.compare.limits.limit import Counterfactual, limit
from tokverify.compare.limits.sides import Sides
from tokverify.engine.deviation import Deviation
from tokverify.errors import answer_or
from tokverify.report.finding import WARNING
from tokverify.report.tokenizer_difference import Origin


@limit(code="TL018", name="several-affixes", origin=Origin.RUNTIME, severity=WARNING)
def several_affixes(sides: Sides) -> Iterator[Counterfactual]:
    """llama.cpp adds at most one token before a text and one after it.

    What llama.cpp does:
        It adds BOS before a text and EOS after it, as the file says. A reference whose post-processor adds two tokens
        on one side, such as `[gMASK]<sop>` or `<sep><cls>`, cannot be imitated.

    Which models:
        GLM 4 (`[gMASK]<sop>`), XLNet (`<sep><cls>`).

    How to live with it:
        Write these tokens into the prompt, as the chat template does, and parse special tokens.

    What it does not explain:
        A side on which the reference adds one token or none; and a file that adds another token than those of the
        reference.
    """
    expected = sides.facts.tokenizer
    if expected is None or sides.settings.family.splits_words:
        return
    ours, theirs = (answer_or(None, affixes_of, side) for side in (sides.encoder, expected))
    if ours is None or theirs is None:
        return
    lacking = [cannot_add(*side) for side in zip(ours, theirs, strict=True)]
    if any(lacking) and all(lacks or a == b for lacks, a, b in zip(lacking, ours, theirs, strict=True)):
        yield Counterfactual(
            reason="llama.cpp adds at most one token on each side of a text, and the reference several",
            sentence="adding all tokens around a text that the reference adds",
            deviation=Deviation(around=(tuple(theirs[0]), tuple(theirs[1]))),
            applies=lambda target: target.add_special,
        )
