"""TL002: llama.cpp's converter makes control tokens of added tokens that look special."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.limits.limit import Counterfactual, limit
from tokverify.compare.limits.overridden_type import contains_token, name_tokens
from tokverify.compare.limits.sides import Sides
from tokverify.engine.deviation import Deviation
from tokverify.report.finding import INFO
from tokverify.report.tokenizer_difference import Origin
from tokverify.texts.token_text import is_converted_control


@limit(code="TL002", name="converted-marker", origin=Origin.CONVENTION, severity=INFO)
def converted_marker(sides: Sides) -> Iterator[Counterfactual]:
    """llama.cpp's converter makes control tokens of added tokens that look special, even if they are not.

    What llama.cpp does:
        `does_token_look_special` in `conversion/base.py` names `<pad>`, `<mask>`, `<2mass>`, `[@BOS@]`, all texts
        like `<|...|>` and `<｜...｜>`, and `<unused...>`. If such a token is an added token of the tokenizer.json
        that is not special, or a user-defined piece of a sentencepiece model, the converter still types it CONTROL. So
        it is matched only if special tokens are parsed, while the reference always matches it.

    Which models:
        DeepSeek (14 tokens, among them `<｜User｜>`), Gemma (`<unused0>` and others), Command R, Qwen
        (`<|fim_prefix|>` and others).

    How to live with it:
        This protects chat markers: a user who writes one cannot end a turn. Leave it so. Only texts that contain such
        a token and are encoded without parsing special tokens are affected.

    What it does not explain:
        A token that does not look special, or is typed NORMAL; and texts for which special tokens are parsed.
    """
    reference = sides.reference_matching
    if reference is None:
        return
    found = {
        id: False
        for id, token in sides.added.items()
        if token.special and sides.declared_matching(id) and reference(id) is False and is_converted_control(token.text)
    }
    if found:
        names = name_tokens(sides, found)
        contains = contains_token(sides, found)
        yield Counterfactual(
            reason=f"llama.cpp's converter makes control tokens of {names}",
            sentence=f"matching {names} even where control tokens are not parsed, as {sides.facts.name} does",
            deviation=Deviation(specials=found),
            applies=lambda target: not target.parse_special and contains(target),
        )
