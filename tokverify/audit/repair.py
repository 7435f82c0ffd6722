"""Command lines that repair a finding; MODEL, REFERENCE and FIXED stand for the files, which a report names."""

from __future__ import annotations

import shlex

from tokverify.files.gguf.keys import SPECIAL_IDS

FIX = "tokverify fix MODEL -r REFERENCE -o FIXED"
"""Where the reference tells the right types, texts, scores or merges, and cases show the fault."""

_KEYS = dict(reversed(SPECIAL_IDS))


def new_metadata(*arguments: str) -> str:
    """Write a copy of the file with `gguf-new-metadata`."""
    return shlex.join(["gguf-new-metadata", *arguments, "MODEL", "FIXED"])


def set_pre_tokenizer(name: str) -> str:
    """Name another pre-tokenizer."""
    return new_metadata("--pre-tokenizer", name)


def set_special_id(role: str, id: int | str) -> str:
    """Name the token of a role; an `id` in words is left for the reader to fill in."""
    name = _KEYS[role].removeprefix("tokenizer.ggml.").removesuffix("_token_id")
    return new_metadata("--special-token-by-id", name, str(id))


def set_flag(key: str, *, value: bool, declared: bool) -> str:
    """Set a flag: in the file where it is there already, else when llama.cpp is run."""
    if not declared:
        return f"llama.cpp's --override-kv {key}=bool:{str(value).lower()}, or convert again with the flag set"
    # subtle: the script makes a bool of the text, which is True for any but an empty one, `false` and `0` included.
    return shlex.join(["gguf-set-metadata", "MODEL", key, "true" if value else ""])


def key_of(role: str) -> str:
    """Return the GGUF key that names the token of a role."""
    return _KEYS[role]
