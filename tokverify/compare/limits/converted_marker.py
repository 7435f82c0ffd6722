"""TL002: llama.cpp's converter makes control tokens of added tokens that look special."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.limits.limit import Counterfactual, limit
from tokverify.compare.limits.overridden_type import contains_token, name_tokens
from tokverify.compare.limits.sides import Sides
from tokverify.engine.deviation import Deviation
from tokverify.engine.family import Ranking
from tokverify.engine.special_text import is_converted_sentinel
from tokverify.report.finding import INFO
from tokverify.report.tokenizer_difference import Origin
from tokverify.spec import TokenType


@limit(code="TL002", name="converted-marker", origin=Origin.CONVENTION, severity=INFO)
def converted_marker(sides: Sides) -> Iterator[Counterfactual]:
    """llama.cpp's converter makes control tokens of added tokens that look special, even if they are not.

    What llama.cpp does:
        `does_token_look_special` in `conversion/base.py` names `<pad>`, `<mask>`, `<2mass>`, `[@BOS@]`, all texts
        like `<|...|>` and `<｜...｜>`, and `<unused...>`. If such a token is an added token of the tokenizer.json
        that is not special, or a user-defined piece of a sentencepiece model, the converter still types it CONTROL, as
        it does such a piece that a tokenizer_config.json calls special. So it is matched only if special tokens are
        parsed, while the reference always matches it. And it gives the unknown token, such as `<unk>`, a type of its
        own, so that llama.cpp finds its text if special tokens are parsed. The other way around, it types the sentinels
        of T5, such as `<extra_id_0>`, USER_DEFINED, although they are special.

    Which models:
        T5 and its kin, DeepSeek (14 tokens, among them `<｜User｜>`), Gemma (`<unused0>` and others), Command R, Qwen
        (`<|fim_prefix|>` and others).

    How to live with it:
        As control tokens, chat markers are protected: a user who writes one cannot end a turn. Leave it so. Only texts
        that contain such a token and are encoded without parsing special tokens are affected.

    What it does not explain:
        A token that does not look special, or is typed NORMAL; and a text with such a token for which special tokens
        are parsed, unless it is the unknown token.
    """
    reference = sides.reference_matching
    if reference is None:
        return
    found = sides.converted_markers
    if found:
        names = name_tokens(sides, found)
        contains = contains_token(sides, found)
        yield Counterfactual(
            reason=f"llama.cpp's converter makes control tokens of {names}",
            sentence=f"matching {names} even where control tokens are not parsed, as {sides.facts.name} does",
            deviation=Deviation(specials=dict.fromkeys(found, False)),
            applies=lambda target: not target.parse_special and contains(target),
        )
    is_unigram = sides.settings.family.ranking is Ranking.SCORE_SUM
    sentinels = {
        id
        for id, token in sides.added.items()
        if is_unigram and not token.special and is_converted_sentinel(token.text) and reference(id)
    }
    if sentinels:
        names, holds = name_tokens(sides, sentinels), contains_token(sides, sentinels)
        yield Counterfactual(
            reason=f"llama.cpp's converter makes user-defined tokens of {names}",
            sentence=f"matching {names} only where control tokens are parsed, as {sides.facts.name} does",
            deviation=Deviation(specials=dict.fromkeys(sentinels, True), usable=dict.fromkeys(sentinels, True)),
            applies=lambda target: not target.parse_special and holds(target),
        )
    unknown = sides.settings.special_ids.get("unk")
    if unknown is not None and _is_typed_unknown(sides, unknown) and reference(unknown) is None:
        names = name_tokens(sides, [unknown])
        in_text = contains_token(sides, [unknown])
        yield Counterfactual(
            reason=f"llama.cpp's converter gives {names} the type UNKNOWN, which is found in texts",
            sentence=f"not finding {names} in texts, as {sides.facts.name} does",
            deviation=Deviation(specials={unknown: None}),
            applies=lambda target: target.parse_special and in_text(target),
        )


def _is_typed_unknown(sides: Sides, id: int) -> bool:
    types = sides.spec.types or ()
    return id in sides.added and id < len(types) and types[id] == TokenType.UNKNOWN
