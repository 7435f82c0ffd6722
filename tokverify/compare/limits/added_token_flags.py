"""TL007: GGUF has no flags for how an added token is matched."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tokverify.compare.limits.limit import Counterfactual, limit
from tokverify.compare.limits.overridden_type import contains_token
from tokverify.compare.limits.sides import Sides
from tokverify.engine.deviation import Deviation, MatchFlags
from tokverify.engine.family import Ranking
from tokverify.engine.settings import resolve
from tokverify.report.finding import WARNING
from tokverify.report.tokenizer_difference import Origin
from tokverify.sources.config import declared_tokens
from tokverify.sources.huggingface.document import Document
from tokverify.sources.huggingface.telling_name import with_telling_name
from tokverify.spec import AddedToken, TokenizerSpec
from tokverify.text.wording import plural
from tokverify.tokenizer import path_of


@limit(code="TL007", name="added-token-flags", origin=Origin.RUNTIME, severity=WARNING)
def added_token_flags(sides: Sides) -> Iterator[Counterfactual]:
    """GGUF has no flags for how an added token is matched: `lstrip`, `rstrip`, `single_word` and `normalized`.

    What llama.cpp does:
        It matches an added token wherever its text occurs, and strips no spaces around it, except for a few tokens of
        models that it recognizes by name (Phi-3, Jina, ModernBERT), around which it strips white space of ASCII only.
        It does not find the token in another case, and finds it without a space before it, too.

    Which models:
        Those with a `<mask>` that strips the space before it (RoBERTa, XLM-R, ModernBERT), Phi-3, also where only an
        added_tokens.json lists its tokens, without flags; uncased models to which tokens were added; and the first
        Llama models, whose `<s>` is `normalized`.

    How to live with it:
        Write no spaces around these tokens, and do not let them touch letters.

    What it does not explain:
        An added token of the reference that the file types NORMAL; and one around which llama.cpp would strip spaces
        as the reference does if the `general.name` of the file named the model (see TV116).
    """
    document = sides.facts.document
    if document is None:
        yield from _strip_nothing(sides)
        return
    flags: dict[int, MatchFlags] = {}
    differing: list[int] = []
    strips = any(entry.get("lstrip") or entry.get("rstrip") for entry in document.added_tokens)
    by_name = _flags_by_name(sides.spec, document) if strips else {}
    for entry in document.added_tokens:
        token = sides.added.get(entry["id"])
        if token is None or token.text != entry["content"]:
            continue
        wanted = MatchFlags(bool(entry.get("lstrip")), bool(entry.get("rstrip")), bool(entry.get("single_word")))
        if wanted == by_name.get(token.id) and wanted != MatchFlags(token.lstrip, token.rstrip):
            continue
        flags[token.id] = wanted
        if wanted != MatchFlags(token.lstrip, token.rstrip):
            differing.append(token.id)
    normalized = {entry["content"]: entry["id"] for entry in document.added_tokens if entry.get("normalized")}
    found = [token for token in sides.added.values() if normalized.get(token.text) == token.id]
    if found and document.library.normalizer is not None:
        yield _in_any_case([token.text for token in found])
        # With Metaspace, the space before a text is added later; for a unigram model, TL016 does that.
        ranking = sides.settings.family.ranking
        if ranking is Ranking.SCORE_SUM or (ranking is Ranking.SCORE and not document.pre_tokenizer):
            yield _in_normalized_text(sides, found, document)
    yield from _strip_as_declared(sides, differing, flags)
    alike = [id for id, each in flags.items() if (each.lstrip or each.rstrip) and id not in differing]
    if alike:
        count = plural(len(alike), "added token")
        contains = contains_token(sides, alike)
        yield Counterfactual(
            reason=f"llama.cpp strips no spaces outside of ASCII around {count}",
            sentence=f"stripping all white space of Unicode around {count}",
            deviation=Deviation(flags=flags),
            applies=lambda target: not target.text.isascii() and contains(target),
        )


def _strip_nothing(sides: Sides) -> Iterator[Counterfactual]:
    """Strip no spaces around the tokens that only an added_tokens.json lists, which has no flags."""
    expected = sides.facts.tokenizer
    path = path_of(expected) if expected else None
    if path and not declared_tokens(path):
        stripping = [id for id, token in sides.added.items() if token.lstrip or token.rstrip]
        if not sides.facts.left_out.keys().isdisjoint(stripping):
            yield from _strip_as_declared(sides, stripping, dict.fromkeys(stripping, MatchFlags()))


def _strip_as_declared(
    sides: Sides, differing: Sequence[int], flags: Mapping[int, MatchFlags]
) -> Iterator[Counterfactual]:
    """Strip spaces as the reference does around tokens for which llama.cpp ignores that, or strips more."""
    stripped = [id for id in differing if sides.added[id].lstrip or sides.added[id].rstrip]
    ignored = [id for id in differing if id not in stripped]
    because = "because of the model's name, pre-tokenizer or architecture"
    for ids, does in (
        (ignored, "llama.cpp ignores lstrip, rstrip or single_word of {}"),
        (stripped, f"llama.cpp strips spaces around {{}}, {because}"),
    ):
        if ids:
            count = plural(len(ids), "added token")
            yield Counterfactual(
                reason=does.format(count),
                sentence=f"stripping spaces around {count} as the reference's lstrip and rstrip specify",
                deviation=Deviation(flags=flags),
                applies=contains_token(sides, ids),
            )


def _in_any_case(texts: Sequence[str]) -> Counterfactual:
    """Find tokens in any case of their letters, as a reference does that looks for them in lowercased texts."""
    pattern = re.compile("|".join(map(re.escape, sorted(texts, key=len, reverse=True))), re.IGNORECASE)
    stored = {text.lower(): text for text in texts}

    def rewrite(text: str) -> str:
        return pattern.sub(lambda match: stored.get(match[0].lower(), match[0]), text)

    count = plural(len(texts), "added token")
    return Counterfactual(
        reason=f"llama.cpp ignores normalized of {count}",
        sentence=f"finding {count} in any case of letters, as the reference's normalized specifies",
        deviation=Deviation(rewrite=rewrite),
        applies=lambda target: rewrite(target.text) != target.text,
    )


def _in_normalized_text(sides: Sides, tokens: Sequence[AddedToken], document: Document) -> Counterfactual:
    """Find tokens with the space that the normalizer adds before a text: only there and after spaces."""
    normalize = document.library.normalizer.normalize_str
    normalized = tuple(replace(token, text=normalize(token.text)) for token in tokens)
    count = plural(len(tokens), "added token")
    return Counterfactual(
        reason=f"llama.cpp ignores normalized of {count}",
        sentence=f"looking for {count} in normalized text, as the reference's normalized specifies",
        deviation=Deviation(normalized_tokens=normalized, specials={token.id: None for token in tokens}),
        applies=contains_token(sides, [token.id for token in tokens]),
    )


def _flags_by_name(spec: TokenizerSpec, document: Document) -> dict[int, MatchFlags]:
    """Return how added tokens strip spaces if the file has the name by which most do so as in the reference.

    Empty if that is its own name.
    """
    named = with_telling_name(spec, document.added_tokens)
    stripping = (
        [] if named is spec else [token for token in resolve(named).added_tokens if token.lstrip or token.rstrip]
    )
    return {token.id: MatchFlags(token.lstrip, token.rstrip) for token in stripping}
