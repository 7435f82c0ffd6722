"""The families, one file each; a new one is one file here and one entry in `FAMILIES`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokverify.engine.family import Family


def _llama() -> Family:
    from tokverify.engine.families.spm import LLAMA

    return LLAMA


def _gpt2() -> Family:
    from tokverify.engine.families.bpe import GPT2

    return GPT2


def _gemma4() -> Family:
    from tokverify.engine.families.bpe import GEMMA4

    return GEMMA4


def _hybriddna() -> Family:
    from tokverify.engine.families.hybriddna import HYBRIDDNA

    return HYBRIDDNA


def _whitespace() -> Family:
    from tokverify.engine.families.whitespace import WHITESPACE

    return WHITESPACE


def _bert() -> Family:
    from tokverify.engine.families.wordpiece import BERT

    return BERT


def _t5() -> Family:
    from tokverify.engine.families.unigram import T5

    return T5


def _rwkv() -> Family:
    from tokverify.engine.families.rwkv import RWKV

    return RWKV


def _plamo2() -> Family:
    from tokverify.engine.families.plamo import PLAMO2

    return PLAMO2


def _plamo3() -> Family:
    from tokverify.engine.families.plamo import PLAMO3

    return PLAMO3


def _cpp_hybrid() -> Family:
    from tokverify.engine.families.cpp_hybrid import CPP_HYBRID

    return CPP_HYBRID


FAMILIES: dict[str, Callable[[], Family]] = {
    "llama": _llama,
    "gpt2": _gpt2,
    "gemma4": _gemma4,
    "hybriddna": _hybriddna,
    "whitespace": _whitespace,
    "bert": _bert,
    "t5": _t5,
    "rwkv": _rwkv,
    "plamo2": _plamo2,
    "plamo3": _plamo3,
    "cpp-hybrid": _cpp_hybrid,
}
"""`tokenizer.ggml.model` -> a function that loads the family, so that only the families in use are imported."""


def find_family(model: str) -> Family | None:
    """Load the family of a `tokenizer.ggml.model`; None if it is unknown."""
    load = FAMILIES.get(model)
    return load() if load else None
