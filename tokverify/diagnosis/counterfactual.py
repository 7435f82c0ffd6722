"""COUNTERFACTUALS: the kinds of changes that a diagnosis tries, the simplest first.

Each is a function from the evidence to the changes worth trying; a new kind is one function and one line here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from tokverify.diagnosis import (
    decoding_change,
    engine_change,
    setting_change,
    spelling_change,
    token_change,
    usual_change,
)

if TYPE_CHECKING:
    from tokverify.diagnosis.change import TokenizerChange
    from tokverify.diagnosis.evidence import DecodingEvidence, Evidence

COUNTERFACTUALS: Mapping[str, Callable[[Evidence], Iterator[TokenizerChange]]] = {
    "flags": setting_change.flags,
    "special ids": setting_change.special_ids,
    "types": token_change.types,
    "texts": token_change.texts,
    "usual texts": spelling_change.usual_texts,
    "shown texts": spelling_change.shown_texts,
    "added tokens": token_change.added,
    "names": setting_change.names,
    "charsmap": setting_change.charsmaps,
    "pre-tokenizer": setting_change.pre_tokenizers,
    "merges": setting_change.merges,
    "scores": setting_change.scores,
    "model": setting_change.models,
    "further tokens": usual_change.added,
    "usual merges": usual_change.merges,
    "usual scores": usual_change.scores,
    "usual charsmap": usual_change.charsmaps,
    "usual model": usual_change.models,
    "normalizer": engine_change.normalizers,
    "engine": engine_change.engines,
}
"""What is tried where ids differ."""

DECODING_COUNTERFACTUALS: Mapping[str, Callable[[DecodingEvidence], Iterator[TokenizerChange]]] = {
    "types": decoding_change.types,
    "texts": decoding_change.texts,
    "special tokens": decoding_change.special_tokens,
    "words": decoding_change.words,
}
"""What is tried where all ids are equal, and some of them decode to other bytes."""
