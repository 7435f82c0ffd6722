"""TL006: the name of the pre-tokenizer decides whether a whole pre-token is looked up before merging."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.limits.limit import Counterfactual, limit
from tokverify.compare.limits.sides import Sides
from tokverify.engine.deviation import Deviation
from tokverify.report.finding import WARNING
from tokverify.report.tokenizer_difference import Origin


@limit(code="TL006", name="fixed-ignore-merges", origin=Origin.RUNTIME, severity=WARNING)
def fixed_ignore_merges(sides: Sides) -> Iterator[Counterfactual]:
    """The name of the pre-tokenizer decides whether a pre-token that is a piece is looked up before merging.

    What llama.cpp does:
        A tokenizer.json has the option `ignore_merges`; GGUF has no key for it. llama.cpp turns it on or off for each
        name of `tokenizer.ggml.pre`, together with the patterns.

    Which models:
        Those whose patterns llama.cpp offers only with the other value, such as GPT-4o's with exact patterns
        (`granite-embed-multi-97m`).

    How to live with it:
        Only words that are pieces, and that no sequence of merges makes, are affected.

    What it does not explain:
        A name for which another one with the same patterns and the right value exists.
    """
    settings, wanted = sides.settings, sides.facts.ignore_merges
    if not settings.family.is_bpe or wanted is None or wanted == settings.ignore_merges or not sides.nearest:
        return
    is_on = settings.ignore_merges
    does = "looks up whole pre-tokens before it merges" if is_on else "merges every pre-token"
    action = "encoding each pre-token that is a piece as one token" if wanted else "merging every pre-token"
    yield Counterfactual(
        reason=f"llama.cpp {does} with all pre-tokenizers that are this near to the reference's",
        sentence=f"{action} (ignore_merges {'on' if wanted else 'off'})",
        deviation=Deviation(ignore_merges=wanted),
    )
