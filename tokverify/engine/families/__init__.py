"""The families, one file each; a new one is one file here and one entry in `FAMILIES`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokverify.engine.family import Family


def _load(module: str, name: str) -> Family:
    family: Family = getattr(import_module(f"{__name__}.{module}"), name)
    return family


FAMILIES: dict[str, Callable[[], Family]] = {
    "llama": partial(_load, "spm", "LLAMA"),
    "gpt2": partial(_load, "bpe", "GPT2"),
    "gemma4": partial(_load, "bpe", "GEMMA4"),
    "hybriddna": partial(_load, "hybriddna", "HYBRIDDNA"),
    "whitespace": partial(_load, "whitespace", "WHITESPACE"),
    "bert": partial(_load, "wordpiece", "BERT"),
    "t5": partial(_load, "unigram", "T5"),
    "rwkv": partial(_load, "rwkv", "RWKV"),
    "plamo2": partial(_load, "plamo", "PLAMO2"),
    "plamo3": partial(_load, "plamo", "PLAMO3"),
    "cpp-hybrid": partial(_load, "cpp_hybrid", "CPP_HYBRID"),
}
"""`tokenizer.ggml.model` -> a function that loads the family, so that only the families in use are imported."""


def find_family(model: str) -> Family | None:
    """Load the family of a `tokenizer.ggml.model`; None if it is unknown."""
    load = FAMILIES.get(model)
    return load() if load else None
