"""TokenizerSpec: everything an encoder needs to know of a tokenizer, free of any file format.

A spec holds what a file *declares*; what llama.cpp makes of it on loading is `tokverify.engine.settings`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum


class TokenType(IntEnum):
    """The type a GGUF file gives each token (`tokenizer.ggml.token_type`)."""

    UNDEFINED = 0
    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


@dataclass(frozen=True, slots=True)
class AddedToken:
    """A token matched in the text before the model runs.

    `special` tokens are matched only when special tokens are parsed. `lstrip` and `rstrip` make the match
    swallow the whitespace before and after it.
    """

    id: int
    text: str
    special: bool
    lstrip: bool = False
    rstrip: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerSpec:
    """A tokenizer as a file declares it; None stands for "the file does not say".

    The index into `tokens`, `scores` and `types` is the token id. Tokens and merges are the stored strings,
    verbatim; bytes that are not UTF-8 survive as lone surrogates (`surrogateescape`). `special_ids` maps
    `bos`, `eos`, `eot`, `eom`, `unk`, `sep`, `pad`, `mask` and `fim_*` to ids. `charsmap` is sentencepiece's
    precompiled normalizer. `named_chat_templates` are those besides the `chat_template`. `general` holds the file's
    `general.*` strings without that prefix.
    """

    model: str
    tokens: Sequence[str]
    pre: str | None = None
    scores: Sequence[float] | None = None
    types: Sequence[int] | None = None
    merges: Sequence[str] | None = None
    special_ids: Mapping[str, int] = field(default_factory=dict)
    add_bos: bool | None = None
    add_eos: bool | None = None
    add_sep: bool | None = None
    add_space_prefix: bool | None = None
    remove_extra_whitespaces: bool | None = None
    lowercase: bool | None = None
    strip_accents: bool | None = None
    charsmap: bytes | None = None
    chat_template: str | None = None
    named_chat_templates: Mapping[str, str] = field(default_factory=dict)
    huggingface_json: str | None = None
    general: Mapping[str, str] = field(default_factory=dict)
