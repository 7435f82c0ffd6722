"""TL007: GGUF has no flags for how an added token is matched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tokverify.compare.limits.limit import Counterfactual, limit
from tokverify.compare.limits.overridden_type import contains_token
from tokverify.compare.limits.sides import Sides
from tokverify.engine.deviation import Deviation, MatchFlags
from tokverify.engine.settings import resolve
from tokverify.errors import BrokenFileError
from tokverify.report.finding import WARNING
from tokverify.report.tokenizer_difference import Origin
from tokverify.spec import TokenizerSpec
from tokverify.text.wording import plural

_TELLING_NAMES = ("phi-3", "modern-bert")
"""Parts of `general.name` by which llama.cpp decides to strip spaces around added tokens."""


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
        An added token of the reference that the file types NORMAL; and one around which llama.cpp would strip spaces
        as the reference does if the `general.name` of the file named the model (see TV116).
    """
    document = sides.facts.document
    if document is None:
        return
    flags: dict[int, MatchFlags] = {}
    differing: list[int] = []
    by_name = _flags_by_name(sides.spec)
    for entry in document.added_tokens:
        token = sides.added.get(entry["id"])
        if token is None or token.text != entry["content"]:
            continue
        wanted = MatchFlags(bool(entry.get("lstrip")), bool(entry.get("rstrip")), bool(entry.get("single_word")))
        if wanted in by_name.get(token.id, ()) and wanted != MatchFlags(token.lstrip, token.rstrip):
            continue
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


def _flags_by_name(spec: TokenizerSpec) -> dict[int, list[MatchFlags]]:
    """Return the flags that added tokens have if the file has one of the names for which llama.cpp strips spaces."""
    found: dict[int, list[MatchFlags]] = {}
    for name in _TELLING_NAMES:
        try:
            settings = resolve(replace(spec, general={**spec.general, "name": name}))
        except BrokenFileError:
            continue
        for token in settings.added_tokens:
            if token.lstrip or token.rstrip:
                found.setdefault(token.id, []).append(MatchFlags(token.lstrip, token.rstrip))
    return found
