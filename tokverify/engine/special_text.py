"""Token texts with a fixed meaning: llama.cpp assigns roles by them, regardless of what the file declares.

Source: the candidate lists in `llama_vocab::impl::load`, llama.cpp's `src/llama-vocab.cpp`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain, product

BYTE_PIECE = re.compile("<0x([0-9A-Fa-f]{2})>")
"""A piece that represents one byte, written in hexadecimal."""
BYTE_SPELLINGS = tuple(f"<0x{high}{low}>" for high, low in product("0123456789ABCDEFabcdef", repeat=2))
"""All such pieces: looking them up takes less time than matching all pieces of a vocabulary."""

FIM_TEXTS: Mapping[str, tuple[str, ...]] = {
    "fim_pre": (
        "<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>",
        "<PRE>", "▁<PRE>", "<|code_prefix|>", "<|prefix|>", "<|plamo:fim_prefix|>",
    ),
    "fim_suf": (
        "<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>",
        "<SUF>", "▁<SUF>", "<|code_suffix|>", "<|suffix|>", "<|plamo:fim_suffix|>",
    ),
    "fim_mid": (
        "<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>",
        "<MID>", "▁<MID>", "<|code_middle|>", "<|middle|>", "<|plamo:fim_middle|>",
    ),
    "fim_pad": ("<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"),
    "fim_rep": ("<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"),
    "fim_sep": ("<|file_sep|>", "<|plamo:file_separator|>"),
}  # fmt: skip
ENDING_FIM_ROLES = ("fim_pad", "fim_rep", "fim_sep")
"""The roles of infilling whose tokens end a generation."""
EOT_TEXTS = (
    "<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>",
    "<EOT>", "_<EOT>", "[EOT]", "<|eot|>", "<｜end▁of▁sentence｜>", "<end_of_utterance>",
)  # fmt: skip
EOM_TEXTS = ("<|eom_id|>",)
EOG_TEXTS = (
    *EOT_TEXTS, *EOM_TEXTS, "<|return|>", "<|call|>", "<|flush|>", "<|calls|>", "</s>", "[EOS]",
    "<eos>", "<turn|>", "<|tool_response>", "[e~[", "<|ifm|im_end|>",
)  # fmt: skip
KMER_MARKER = "\ue000"
"""The end of the stored text of DNA tokens of `hybriddna`, which distinguishes them from ordinary pieces."""

ALWAYS_SHOWN_TEXTS = ("<|channel|>", "<|message|>", "<|start|>", "<|constrain|>")
TYPED_BY_TEXT = (*EOG_TEXTS, *ALWAYS_SHOWN_TEXTS, *chain.from_iterable(FIM_TEXTS.values()))
"""All tokens whose types llama.cpp can override because of their texts."""

# subtle: what encloses a text may overlap, as in `<|>`.
_CONVERTED = re.compile(r"<pad>|<mask>|<2mass>|\[@BOS@\]|<\|.*\|>|<｜.*｜>|<unused.*>|<\|>|<｜>", re.DOTALL)
_CONVERTED_SENTINEL = re.compile("<extra_id_[0-9]+>")


def is_converted_sentinel(text: str) -> bool:
    """Check whether llama.cpp's converter types a token USER_DEFINED because T5's added tokens are, special or not.

    Source: `set_vocab` in llama.cpp's conversion/t5.py.
    """
    return _CONVERTED_SENTINEL.fullmatch(text) is not None


def is_converted_control(text: str) -> bool:
    """Check whether llama.cpp's converter types an added token CONTROL because of its text, even if it is not special.

    Source: `does_token_look_special` in llama.cpp's conversion/base.py, which `get_vocab_base` and
    `_create_vocab_sentencepiece` ask; the latter of the tokens that a tokenizer_config.json adds to a sentencepiece
    model.
    """
    return _CONVERTED.fullmatch(text) is not None
