"""COUNTERFACTUALS: the kinds of changes that a diagnosis tries, the simplest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tokverify.compare.limits import LIMITS
from tokverify.compare.limits.sides import Sides
from tokverify.repair import (
    added_token_change,
    array_change,
    convention_change,
    cost,
    decoding_change,
    extra_token_change,
    move_change,
    piece_change,
    probed_type_change,
    rewritten_text,
    setting_change,
    shift_change,
    type_change,
)
from tokverify.repair.change import TokenizerChange
from tokverify.repair.evidence import DecodingEvidence, Evidence


def limits(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Do what llama.cpp does not, one thing at a time, to be combined with a change to the file.

    GGUF cannot express these changes. They help only together with a change to the file: cases that limits alone
    explain are not searched for.
    """
    if evidence.encoder is None or not evidence.encoder.settings.family.in_llama_cpp:
        return
    sides = Sides(evidence.encoder, evidence.facts)
    texts = [each.as_text() for each in evidence.targets]
    for limit in LIMITS.values():
        for found in limit.find(sides):
            if any(map(found.applies_to, texts)):
                yield TokenizerChange(
                    kind=limit.name,
                    sentence=found.sentence,
                    cost=cost.discount(cost.RUNTIME, confirmed=not found.is_guess),
                    deviation=found.deviation,
                )


COUNTERFACTUALS: Mapping[str, Callable[[Evidence], Iterator[TokenizerChange]]] = {
    "surplus values": array_change.surplus_values,
    "flags": setting_change.flags,
    "special ids": setting_change.special_ids,
    "mistyped values": array_change.mistyped_values,
    "rewritten texts": rewritten_text.rewritten_texts,
    "shift": shift_change.shifts,
    "types": type_change.types,
    "texts": piece_change.reference_texts,
    "conventional texts": piece_change.conventional_texts,
    "lost bytes": piece_change.lost_bytes,
    "order of bytes": piece_change.ordered_bytes,
    "texts by bytes": piece_change.texts_by_bytes,
    "placeholders": added_token_change.placeholders_by_bytes,
    "placeholders by ids": added_token_change.placeholders_by_ids,
    "moves": move_change.moves,
    "extra tokens": extra_token_change.extra_tokens,
    "added tokens": added_token_change.reference_tokens,
    "name": setting_change.names,
    "charsmap": array_change.charsmaps,
    "pre-tokenizer": setting_change.pre_tokenizers,
    "merges": array_change.merges,
    "scores": array_change.scores,
    "model": array_change.models,
    "added tokens by bytes": added_token_change.tokens_by_bytes,
    "moves by ids": move_change.moves_by_ids,
    "conventional model": convention_change.models,
    "conventional merges": convention_change.merges,
    "conventional scores": convention_change.scores,
    "conventional charsmap": convention_change.charsmaps,
    "probed types": probed_type_change.probed_types,
    "limits": limits,
}
"""The functions that derive changes to try from the evidence, if ids differ. A new kind is one function and one row."""

DECODING_COUNTERFACTUALS: Mapping[str, Callable[[DecodingEvidence], Iterator[TokenizerChange]]] = {
    "flags": setting_change.decoding_flags,
    "types": decoding_change.types,
    "pre-tokenizer": decoding_change.pre_tokenizers,
    "texts": decoding_change.texts,
    "special tokens": decoding_change.special_tokens,
    "words": decoding_change.words,
}
"""The functions to use if all ids are equal but some of them decode to different bytes."""
