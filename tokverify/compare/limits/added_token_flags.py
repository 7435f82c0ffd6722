"""TL007: GGUF has no flags for how an added token is matched."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.limits.limit import Counterfactual, limit
from tokverify.compare.limits.overridden_type import contains_token
from tokverify.compare.limits.sides import Sides
from tokverify.engine.deviation import Deviation, MatchFlags
from tokverify.report.finding import WARNING
from tokverify.report.verdict import Origin
from tokverify.text.wording import plural


@limit(code="TL007", name="added-token-flags", origin=Origin.RUNTIME, severity=WARNING)
def added_token_flags(sides: Sides) -> Iterator[Counterfactual]:
    """GGUF has no flags for how an added token is matched: `lstrip`, `rstrip` and `single_word`.

    What llama.cpp does:
        It matches an added token wherever its text occurs, and strips no spaces around it, except for a few tokens of
        models that it recognizes by name (Phi-3, Jina, ModernBERT).

    Which models:
        Those with a `<mask>` that strips the space before it (RoBERTa, XLM-R, ModernBERT), and Phi-3.

    How to live with it:
        Write no spaces around these tokens, and do not let them touch letters.

    What it does not explain:
        An added token of the reference that the file types NORMAL.
    """
    document = sides.facts.document
    if document is None:
        return
    flags: dict[int, MatchFlags] = {}
    differing: list[int] = []
    for entry in document.added_tokens:
        token = sides.added.get(entry["id"])
        if token is None or token.text != entry["content"]:
            continue
        wanted = MatchFlags(bool(entry.get("lstrip")), bool(entry.get("rstrip")), bool(entry.get("single_word")))
        flags[token.id] = wanted
        if wanted != MatchFlags(token.lstrip, token.rstrip):
            differing.append(token.id)
    if differing:
        count = plural(len(differing), "added token")
        yield Counterfactual(
            reason=f"llama.cpp ignores lstrip, rstrip or single_word of {count}",
            sentence=f"stripping spaces around {count} as the reference's lstrip and rstrip specify",
            deviation=Deviation(flags=flags),
            applies=contains_token(sides, differing),
        )
