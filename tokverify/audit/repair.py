"""Command lines that repair a finding; MODEL, REFERENCE and FIXED are placeholders for files."""

from __future__ import annotations

import shlex

from tokverify.files.gguf.declaration import SPECIAL_IDS

FIX = "tokverify fix MODEL -r REFERENCE -o FIXED"
"""For findings about types, texts, scores or merges that the reference has right and that cases reveal."""

_KEYS = dict(reversed(SPECIAL_IDS))


def new_metadata(*arguments: str) -> str:
    """Return a command that writes a changed copy of the file with `gguf-new-metadata`."""
    return shlex.join(["gguf-new-metadata", *arguments, "MODEL", "FIXED"])


def set_pre_tokenizer(name: str) -> str:
    """Return the command that sets the pre-tokenizer."""
    return new_metadata("--pre-tokenizer", name)


def set_special_id(role: str, id: int | str) -> str:
    """Return the command that sets the token of a role; a word as `id` is a placeholder."""
    name = _KEYS[role].removeprefix("tokenizer.ggml.").removesuffix("_token_id")
    return new_metadata("--special-token-by-id", name, str(id))


def set_flag(key: str, *, value: bool, declared: bool) -> str:
    """Return how to set a flag: in the file if it is declared there, otherwise when llama.cpp runs."""
    if not declared:
        return f"llama.cpp's --override-kv {key}=bool:{str(value).lower()}, or convert again with the flag set"
    # subtle: the script converts the text to a bool, which is True for any non-empty text, even `false` and `0`.
    return shlex.join(["gguf-set-metadata", "MODEL", key, "true" if value else ""])


def key_of(role: str) -> str:
    """Return the GGUF key for the token of a role."""
    return _KEYS[role]
