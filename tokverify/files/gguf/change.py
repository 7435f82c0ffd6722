"""Two TokenizerSpecs -> the metadata of a GGUF file that has to change to make the one of the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tokverify.files.gguf import declaration as gguf_file
from tokverify.files.gguf.cursor import ValueType
from tokverify.files.gguf.metadata import Value

if TYPE_CHECKING:
    from tokverify.spec import TokenizerSpec


def _string(text: str) -> Value:
    return Value(ValueType.STRING, text)


def _strings(texts: object) -> Value:
    return Value(ValueType.ARRAY, texts, ValueType.STRING)


def _floats(numbers: object) -> Value:
    return Value(ValueType.ARRAY, numbers, ValueType.FLOAT32)


def _integers(numbers: object) -> Value:
    return Value(ValueType.ARRAY, numbers, ValueType.INT32)


def _bytes(data: object) -> Value:
    return Value(ValueType.ARRAY, data, ValueType.UINT8)


def _flag(value: object) -> Value:
    return Value(ValueType.BOOL, value)


FIELDS: Mapping[str, tuple[str, Callable[..., Value]]] = {
    "model": (gguf_file.MODEL, _string),
    "pre": (gguf_file.PRE, _string),
    "tokens": (gguf_file.TOKENS, _strings),
    "scores": (gguf_file.SCORES, _floats),
    "types": (gguf_file.TYPES, _integers),
    "merges": (gguf_file.MERGES, _strings),
    "add_bos": (gguf_file.ADD_BOS, _flag),
    "add_eos": (gguf_file.ADD_EOS, _flag),
    "add_sep": (gguf_file.ADD_SEP, _flag),
    "add_space_prefix": (gguf_file.ADD_SPACE_PREFIX, _flag),
    "remove_extra_whitespaces": (gguf_file.REMOVE_EXTRA_WHITESPACES, _flag),
    "lowercase": (gguf_file.LOWERCASE, _flag),
    "strip_accents": (gguf_file.STRIP_ACCENTS, _flag),
    "charsmap": (gguf_file.CHARSMAP, _bytes),
}
"""The field of a spec -> its key, and how its value is written."""


def changed_values(old: TokenizerSpec, new: TokenizerSpec) -> dict[str, Value | None]:
    """Return the values by key that differ; None for a key that has to go."""
    changes: dict[str, Value | None] = {}
    for name, (key, make) in FIELDS.items():
        before, after = getattr(old, name), getattr(new, name)
        if before is not after and before != after:
            changes[key] = None if after is None else make(after)
    keys = dict(reversed(gguf_file.SPECIAL_IDS))
    for role, id in new.special_ids.items():
        if old.special_ids.get(role) != id:
            changes[keys[role]] = Value(ValueType.UINT32, id)
    model_name = new.general.get("name")
    if model_name is not None and model_name != old.general.get("name"):
        changes[f"{gguf_file.GENERAL}name"] = _string(model_name)
    return changes
