"""Leave out the parts of a repair that are not needed.

A diagnosis looks for one cause at a time, so a wrong guess that happens to help at first can stay in a repair although
a later change explains everything. To find out, texts are made that the tokenizer encodes differently with and without
each part; they also prove the parts that stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from tokverify.case import Case
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import NATIVE
from tokverify.engine.joined_strings import find_differing
from tokverify.repair import cost
from tokverify.repair.change import TokenizerChange
from tokverify.repair.fix.measure import OF_TEXTS, Measure, Measuring
from tokverify.repair.token_patch import TokenPatch, set_types, types_of
from tokverify.spec import TokenizerSpec
from tokverify.text.sequence import pack, thin_out
from tokverify.text.utf8 import from_utf8
from tokverify.texts.frame import CHARACTERS
from tokverify.texts.target_text import target_cases
from tokverify.tokenizer import Tokenizer

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
    return _describe_anew(set_types_once(kept, spec), spec)


def _describe_anew(parts: Sequence[TokenizerChange], spec: TokenizerSpec) -> list[TokenizerChange]:
    """Return parts with sentences for what they still change without those that were dropped."""
    described: list[TokenizerChange] = []
    for part in parts:
        described.append(replace(part, sentence=part.describe(spec)) if part.describe else part)
        spec = part.transform(spec)
    return described


def set_types_once(parts: list[TokenizerChange], spec: TokenizerSpec) -> list[TokenizerChange]:
    """Return parts that do the same and set no type twice: a later one may undo a part of what an earlier one does."""
    whole, count = spec, 0
    for part in parts:
        before, whole = whole, part.transform(whole)
        if part.kind == "types":
            count += len(find_differing(types_of(before), types_of(whole)))
    changed = [id for id in find_differing(types_of(spec), types_of(whole)) if id < len(spec.tokens)]
    if count <= len(changed):
        return parts
    joined = set_types(spec, {id: TokenPatch(type=types_of(whole)[id]) for id in changed}, cost.TYPES)
    joined += [part for part in parts if part.kind != "types"]
    return joined if _apply(joined, spec) == whole else parts


def _apply(parts: Sequence[TokenizerChange], spec: TokenizerSpec) -> TokenizerSpec:
    return reduce(TokenizerChange.then, parts).transform(spec)


def _is_needed(measuring: Measuring, whole: TokenizerSpec, reduced: TokenizerSpec, expected: Tokenizer | None) -> bool:
    with_part, without = measuring.measure(whole), measuring.measure(reduced)
    if with_part.encoder is None or without.encoder is None:
        return without.encoder is None
    if any(count > with_part.compared[name] for name, count in without.compared.items() if name not in OF_TEXTS):
        return True
    if measuring.add_cases(_telling_cases(with_part.encoder, without.encoder, expected)):
        with_part, without = measuring.measure(whole), measuring.measure(reduced)
    return _differs_more(without, with_part)


def _differs_more(one: Measure, other: Measure) -> bool:
    # Errors take long to count.
    is_more = any(count > other.compared[name] for name, count in one.compared.items())
    return is_more or any(count > other.counts[name] for name, count in one.counts.items())


def _telling_cases(one: Encoder, other: Encoder, expected: Tokenizer | None) -> list[Case]:
    """Return cases for tokens whose own texts two encoders encode differently."""
    size = min(one.vocab_size, other.vocab_size)
    ids = thin_out(range(size), size if one.engine.name == other.engine.name == NATIVE else _MOST_TOKENS_IN_PYTHON)
    all_bytes = one.bytes_of_tokens()
    texts = {id: text for id in ids if (text := from_utf8(all_bytes[id]))}
    # Most do not, and many in one text take a tenth of the time. White space at their ends, but for the space before a
    # word, could become part of another token there.
    packed = [id for id, text in texts.items() if text.removeprefix(" ").strip() == text.removeprefix(" ")]
    groups = list(pack(packed, lambda id: len(texts[id]), CHARACTERS))
    differing = _find_differing(["\n".join(texts[id] for id in group) for group in groups], one, other)
    tried = sorted({*texts}.difference(packed).union(*(groups[index] for index in differing)))
    differing = [tried[index] for index in _find_differing([texts[id] for id in tried], one, other)]
    return target_cases(thin_out(differing, _MOST), one, expected)


def _find_differing(texts: Sequence[str], one: Encoder, other: Encoder) -> list[int]:
    """Return the indexes of the texts that two encoders encode differently."""
    encoded = (side.encode_many(texts, add_special=False, parse_special=False) for side in (one, other))
    return [index for index, (ours, theirs) in enumerate(zip(*encoded, strict=True)) if ours != theirs]
