"""TL012: llama.cpp has no pre-tokenizer that splits texts exactly as the reference does."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.damage import find_lost_tokens
from tokverify.compare.limits.limit import Counterfactual, Text, limit
from tokverify.compare.limits.sides import Sides
from tokverify.engine.deviation import Deviation
from tokverify.report.finding import WARNING
from tokverify.report.tokenizer_difference import Origin


@limit(code="TL012", name="nearest-pattern", origin=Origin.RUNTIME, severity=WARNING)
def nearest_pattern(sides: Sides) -> Iterator[Counterfactual]:
    """llama.cpp has no pre-tokenizer that splits texts exactly as the reference does; the file names the nearest.

    What llama.cpp does:
        GGUF stores no patterns, only names of patterns that llama.cpp contains, in versions that its own engine for
        regular expressions can run. Some of them are not exactly those of the model; for example, combining marks are
        not part of a word in its version of tekken's pattern, and its version of Kimi K2's ignores case.

    Which models:
        Mistral with tekken (Nemo, Small 3 and others), GPT-4o, Kimi K2, and models with patterns of their own. Texts
        with combining marks are affected (Arabic with vowels, Indic scripts, Thai); for Kimi K2, words with capitals
        inside, too.

    How to live with it:
        Expect other tokens, and a somewhat worse model, for these texts.

    What it does not explain:
        A file whose pre-tokenizer is not the nearest: another name splits fewer texts differently, or is as near and
        right about `ignore_merges`; or it is the name that llama.cpp's converter gives this pattern, and no other is
        right in all that this one is. Such a file is wrong, and its repair is that name. And a reference that splits
        its own tokens, as it does if a library has lost a stage (TV213).
    """
    split = sides.split
    if split is None or not sides.nearest or any(find_lost_tokens(sides.encoder, sides.facts)):
        return

    def applies(target: Text) -> bool:
        return split(target.text) != sides.own_split(target.text) and not sides.splits_as_rival(target.text)

    yield Counterfactual(
        reason=f"llama.cpp has no pre-tokenizer with exactly the reference's pattern ({sides.settings.pre} is nearest)",
        sentence="splitting texts into pre-tokens as the reference does",
        deviation=Deviation(split_pre_tokens=split),
        applies=applies,
    )
