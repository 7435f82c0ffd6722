"""The stages of a HuggingFace tokenizer, and pipelines that one family reproduces as a whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from tokverify.files.huggingface.document import Document
    from tokverify.spec import TokenizerSpec

Stage = dict[str, Any]
"""A stage as a JSON object."""


def stages_of(component: object) -> list[Stage]:
    """Return the stages of a normalizer, pre-tokenizer, post-processor or decoder, with sequences flattened."""
    # The pickled state of a component is its part of the tokenizer.json.
    return [] if component is None else _flatten(json.loads(cast("bytes", component.__getstate__())))


def _flatten(stage: Stage) -> list[Stage]:
    if stage["type"] != "Sequence":
        return [stage]
    parts = next(value for value in stage.values() if isinstance(value, list))
    return [inner for part in parts for inner in _flatten(part)]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A normalizer and a pre-tokenizer that only make sense together, and that a model of ours includes."""

    model: str
    """The `tokenizer.ggml.model` that includes them."""
    convert: Callable[[Document], TokenizerSpec]
    piece_bytes: Callable[[str], bytes]
    """Return the bytes that a piece represents."""


def find_pipeline(tokenizer: Tokenizer) -> Pipeline | None:
    """Return the known pipeline of a tokenizer; None if its stages are those of no known one."""
    types = tuple(stage["type"] for stage in stages_of(tokenizer.pre_tokenizer))
    find = _PIPELINES.get(types)
    return find(tokenizer) if find else None


def _find_cpp_hybrid(tokenizer: Tokenizer) -> Pipeline | None:
    from tokverify.files.huggingface.cpp_hybrid import PIPELINE
    from tokverify.files.huggingface.cpp_stages import is_cpp_hybrid

    return PIPELINE if is_cpp_hybrid(tokenizer) else None


_PIPELINES: Mapping[tuple[str, ...], Callable[[Tokenizer], Pipeline | None]] = {
    ("Split", "WhitespaceSplit", "ByteLevel"): _find_cpp_hybrid,
}
"""Types of the pre-tokenizer's stages -> a function that compares the rest, so that it is imported only then."""
