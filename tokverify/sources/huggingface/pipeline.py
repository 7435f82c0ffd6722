"""Recognize pipelines of stages that one family reproduces as a whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokverify.sources.huggingface.stage import stages_of

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from tokverify.sources.huggingface.document import Document
    from tokverify.spec import TokenizerSpec


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A normalizer and a pre-tokenizer that belong together and that one of tokverify's models includes."""

    model: str
    """The `tokenizer.ggml.model` that includes them."""
    convert: Callable[[Document], TokenizerSpec]
    piece_bytes: Callable[[str], bytes]
    """Returns the bytes that a piece represents."""


def find_pipeline(tokenizer: Tokenizer) -> Pipeline | None:
    """Return the known pipeline of a tokenizer; None if its stages match no known one."""
    types = tuple(stage["type"] for stage in stages_of(tokenizer.pre_tokenizer))
    find = _PIPELINES.get(types)
    return find(tokenizer) if find else None


def _find_cpp_hybrid(tokenizer: Tokenizer) -> Pipeline | None:
    from tokverify.engine.models.cpp.spacing import piece_bytes
    from tokverify.sources.huggingface.cpp_hybrid import MODEL, convert_cpp_hybrid, is_cpp_hybrid

    return Pipeline(MODEL, convert_cpp_hybrid, piece_bytes) if is_cpp_hybrid(tokenizer) else None


_PIPELINES: Mapping[tuple[str, ...], Callable[[Tokenizer], Pipeline | None]] = {
    ("Split", "WhitespaceSplit", "ByteLevel"): _find_cpp_hybrid,
}
"""Types of the pre-tokenizer's stages -> a function that compares the rest, so that it is imported only then."""
