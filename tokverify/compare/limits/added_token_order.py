"""TL008: llama.cpp splits a text at its added tokens by length, not from left to right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tokverify.compare.limits.limit import Counterfactual, Text, limit
from tokverify.compare.limits.sides import Sides
from tokverify.engine.added_token import selector, split_leftmost, split_longest_first
from tokverify.engine.deviation import Deviation
from tokverify.report.finding import INFO
from tokverify.report.tokenizer_difference import Origin


@limit(code="TL008", name="added-token-order", origin=Origin.RUNTIME, severity=INFO)
def added_token_order(sides: Sides) -> Iterator[Counterfactual]:
    """llama.cpp splits a text at its added tokens by length, not from left to right.

    What llama.cpp does:
        It splits the whole text at the longest added token first, then the rest at the next one. HuggingFace and
        sentencepiece go from left to right, and take the longest token at each position. The results differ where one
        token begins inside another.

    Which models:
        Those with added tokens that overlap, such as runs of different whitespace, or `<<` and `<|`.

    How to live with it:
        Only texts in which two added tokens overlap are affected.

    What it does not explain:
        A token that one of the sides does not match.
    """
    tokens = sides.settings.added_tokens
    if not tokens:
        return
    # What is stripped around a token is another limit.
    select = selector([replace(token, lstrip=False, rstrip=False) for token in tokens])

    def applies(target: Text) -> bool:
        present = [token for token in select(target.text) if token.text in target.text]
        matched = [token for token in present if target.parse_special or not token.special]
        leftmost = split_leftmost(target.text, present, parse_special=target.parse_special)
        return len(matched) > 1 and split_longest_first(target.text, matched) != leftmost

    yield Counterfactual(
        reason="llama.cpp splits texts at the longest added token first, not from left to right",
        sentence="matching added tokens from left to right, the longest at each position",
        deviation=Deviation(leftmost=True),
        applies=applies,
    )
