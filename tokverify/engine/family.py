"""Families: what llama.cpp assumes of each `tokenizer.ggml.model` before it reads the rest of a file.

Source: the first part of `llama_vocab::impl::load` in llama.cpp's `src/llama-vocab.cpp`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """What llama.cpp assumes of a `tokenizer.ggml.model` before it reads the rest of the file.

    One that is not `in_llama_cpp` is tokverify's own, and nothing is assumed of it.
    """

    algorithm: str
    special_ids: Mapping[str, int]
    add_bos: bool = False
    add_eos: bool = False
    add_sep: bool = False
    add_space_prefix: bool = False
    clean_spaces: bool = False
    escape_whitespaces: bool = True
    lowercase: bool = False
    pre: str | None = None
    ignore_merges: bool = False
    in_llama_cpp: bool = True


FAMILIES: Mapping[str, Family] = {
    "llama": Family("spm", {"bos": 1, "eos": 2, "unk": 0}, add_bos=True, add_space_prefix=True),
    "gpt2": Family("bpe", {"bos": 11, "eos": 11}, clean_spaces=True, escape_whitespaces=False),
    "gemma4": Family("bpe", {}, clean_spaces=True, escape_whitespaces=False, pre="gemma4"),
    "hybriddna": Family("hybriddna", {"bos": 11, "eos": 11}, clean_spaces=True, escape_whitespaces=False),
    "whitespace": Family(
        "whitespace", {"bos": 11, "eos": 11}, clean_spaces=True, escape_whitespaces=False, lowercase=True
    ),
    "bert": Family(
        "wordpiece",
        {"bos": 101, "unk": 100, "sep": 102, "pad": 0, "mask": 103},
        add_bos=True,
        add_sep=True,
        clean_spaces=True,
        lowercase=True,
    ),
    "t5": Family("unigram", {"eos": 1, "unk": 2, "pad": 0}, add_eos=True),
    "rwkv": Family("rwkv", {}),
    "plamo2": Family("plamo2", {"bos": 1, "eos": 2, "unk": 0, "pad": 3}),
    "plamo3": Family("plamo3", {"bos": 1, "eos": 2, "unk": 0, "pad": 3}),
    "cpp-hybrid": Family(
        "cpp-hybrid", {}, escape_whitespaces=False, pre="cpp-hybrid", ignore_merges=True, in_llama_cpp=False
    ),
}

BYTE_PAIR_ALGORITHMS = frozenset({"bpe", "hybriddna", "whitespace"})
"""The algorithms that use a pre-tokenizer and merges."""

BY_RANK_ALGORITHMS = BYTE_PAIR_ALGORITHMS | {"cpp-hybrid"}
"""The algorithms whose choice of pieces the order of the merges decides."""

BY_SCORE_ALGORITHMS = frozenset({"spm", "unigram", "plamo2", "plamo3"})
"""The algorithms whose choice of pieces the scores decide."""

BY_TYPE_ALGORITHMS = BY_SCORE_ALGORITHMS - {"spm"}
"""The algorithms whose model depends on the tokens' types, besides which of them are added tokens."""

NO_VOCABULARY = frozenset({"no_vocab", "none"})
"""The models of files without a tokenizer."""
