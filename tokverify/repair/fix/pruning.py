"""Drop the parts of a repair that nothing needs.

A diagnosis looks for one cause at a time, so a wrong guess that happens to help at first can stay in a repair although
a later change explains everything. To find out, texts are made that the tokenizer encodes differently with and without
each part; they also prove the parts that stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from tokverify.case import Case
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import NATIVE
from tokverify.repair.diagnosis import TokenizerChange
from tokverify.spec import TokenizerSpec
from tokverify.text.sequence import thin_out
from tokverify.text.utf8 import from_utf8
from tokverify.texts.target_text import target_cases
from tokverify.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokverify.repair.fix.measure import Measure, Measuring

_MOST = 60
"""At most this many tokens are put into texts for each part."""
_MOST_TOKENS_IN_PYTHON = 20_000
"""The Python engine encodes the texts of at most this many tokens."""


def prune(
    measuring: Measuring, spec: TokenizerSpec, parts: Sequence[TokenizerChange], expected: Tokenizer | None
) -> list[TokenizerChange]:
    """Return the parts that are needed, which is at least one; texts that show their effect are added as cases.

    Parts that there is no budget left to examine are kept.
    """
    kept = [step for part in parts for step in part.steps]
    for part in list(kept):
        if measuring.budget.is_spent:
            break
        rest = [other for other in kept if other is not part]
        if rest and not _is_needed(measuring, _apply(kept, spec), _apply(rest, spec), expected):
            kept = rest
    return kept


def _apply(parts: Sequence[TokenizerChange], spec: TokenizerSpec) -> TokenizerSpec:
    return reduce(TokenizerChange.then, parts).transform(spec)


def _is_needed(measuring: Measuring, whole: TokenizerSpec, reduced: TokenizerSpec, expected: Tokenizer | None) -> bool:
    with_part, without = measuring.measure(whole), measuring.measure(reduced)
    if with_part.encoder is None or without.encoder is None:
        return without.encoder is None
    if measuring.add_cases(_telling_cases(with_part.encoder, without.encoder, expected)):
        with_part, without = measuring.measure(whole), measuring.measure(reduced)
    return _differs_more(without, with_part)


def _differs_more(one: Measure, other: Measure) -> bool:
    return any(count > other.counts[name] for name, count in one.counts.items())


def _telling_cases(one: Encoder, other: Encoder, expected: Tokenizer | None) -> list[Case]:
    """Return cases for tokens whose own texts two encoders encode differently."""
    size = min(one.vocab_size, other.vocab_size)
    ids = thin_out(range(size), size if one.engine.name == other.engine.name == NATIVE else _MOST_TOKENS_IN_PYTHON)
    texts = {id: text for id in ids if (text := from_utf8(one.token_bytes(id)))}
    encoded = (side.encode_many(list(texts.values()), add_special=False, parse_special=False) for side in (one, other))
    differing = [id for id, ours, theirs in zip(texts, *encoded, strict=True) if ours != theirs]
    return target_cases(thin_out(differing, _MOST), one, expected)
