"""Convert a TokenizerSpec to GGUF metadata, all of it or what differs from another tokenizer; and pack it as bytes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence

from tokverify.engine.engine_choice import usable_native_module
from tokverify.engine.joined_strings import join
from tokverify.sources.gguf import keys
from tokverify.sources.gguf.cursor import ValueType
from tokverify.sources.gguf.metadata import Value
from tokverify.spec import TokenizerSpec
from tokverify.text.utf8 import to_bytes


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
    "model": (keys.MODEL, _string),
    "pre": (keys.PRE, _string),
    "tokens": (keys.TOKENS, _strings),
    "scores": (keys.SCORES, _floats),
    "types": (keys.TYPES, _integers),
    "merges": (keys.MERGES, _strings),
    "add_bos": (keys.ADD_BOS, _flag),
    "add_eos": (keys.ADD_EOS, _flag),
    "add_sep": (keys.ADD_SEP, _flag),
    "add_space_prefix": (keys.ADD_SPACE_PREFIX, _flag),
    "remove_extra_whitespaces": (keys.REMOVE_EXTRA_WHITESPACES, _flag),
    "lowercase": (keys.LOWERCASE, _flag),
    "strip_accents": (keys.STRIP_ACCENTS, _flag),
    "nfc": (keys.NFC, _flag),
    "suppressed": (keys.SUPPRESSED, _integers),
    "charsmap": (keys.CHARSMAP, _bytes),
}
"""The field of a spec -> its key, and the function that converts its value."""

_CODES = {
    ValueType.UINT8: "B",
    ValueType.INT8: "b",
    ValueType.UINT32: "I",
    ValueType.INT32: "i",
    ValueType.FLOAT32: "f",
    ValueType.BOOL: "?",
}
"""Type of a value -> the format of `struct`."""


def gguf_values(spec: TokenizerSpec) -> dict[str, Value]:
    """Return the values by key that declare a tokenizer, without `general.*`."""
    values: dict[str, Value] = {}
    for name, (key, make) in FIELDS.items():
        value = getattr(spec, name)
        # subtle: GGUF cannot hold an empty array, and llama.cpp needs no key for one.
        if value is not None and not (isinstance(value, list | bytes) and not value):
            values[key] = make(value)
    values |= {keys.KEYS_BY_ROLE[role]: Value(ValueType.UINT32, id) for role, id in spec.special_ids.items()}
    return values | _templates(spec)


def _templates(spec: TokenizerSpec) -> dict[str, Value]:
    texts = {f"{keys.CHAT_TEMPLATE}.{name}": text for name, text in spec.named_chat_templates.items()}
    if spec.chat_template is not None:
        texts[keys.CHAT_TEMPLATE] = spec.chat_template
    templates = {key: _string(text) for key, text in texts.items()}
    if spec.named_chat_templates:
        templates[keys.CHAT_TEMPLATE_NAMES] = _strings(list(spec.named_chat_templates))
    return templates


def changed_values(old: TokenizerSpec, new: TokenizerSpec) -> dict[str, Value | None]:
    """Return the values by key that turn `old` into `new`; None for a key to remove."""
    changes: dict[str, Value | None] = {}
    for name, (key, make) in FIELDS.items():
        before, after = getattr(old, name), getattr(new, name)
        if before is not after and before != after:
            changes[key] = None if after is None else make(after)
    changes |= _changed_roles(old, new)
    changes |= _changed_templates(old, new)
    changes |= {key: None for key in old.mistyped_keys if key not in changes and key not in new.mistyped_keys}
    model_name = new.general.get("name")
    if model_name is not None and model_name != old.general.get("name"):
        changes[f"{keys.GENERAL}name"] = _string(model_name)
    return changes


def _changed_roles(old: TokenizerSpec, new: TokenizerSpec) -> dict[str, Value | None]:
    """Return the values of the roles with another token, without other keys of these roles: llama.cpp prefers those."""
    changes: dict[str, Value | None] = {}
    for role, key in keys.SPECIAL_IDS:
        before, after = old.special_ids.get(role), new.special_ids.get(role)
        is_written = after is not None and key == keys.KEYS_BY_ROLE[role]
        if before != after and (is_written or before is not None):
            changes[key] = Value(ValueType.UINT32, after) if is_written else None
    return changes


def _changed_templates(old: TokenizerSpec, new: TokenizerSpec) -> dict[str, Value | None]:
    before, after = _templates(old), _templates(new)
    removed: dict[str, Value | None] = {key: None for key in before if key not in after}
    return removed | {key: value for key, value in after.items() if before.get(key) != value}


def pack_pair(key: str, value: Value, order: str) -> bytes:
    """Return the bytes of a key and its value in a byte order, `<` or `>`."""
    return _pack_string(key, order) + struct.pack(order + "I", value.type) + pack_value(value, order)


def pack_value(value: Value, order: str) -> bytes:
    """Return the bytes of a value after its type; an array begins with the type and the number of its elements."""
    if value.type is ValueType.STRING:
        return _pack_string(value.data, order)
    if value.type is not ValueType.ARRAY or value.element_type is None:
        return struct.pack(order + _CODES[value.type], value.data)
    head = struct.pack(order + "IQ", value.element_type, len(value.data))
    if value.element_type is ValueType.STRING:
        return head + _pack_strings(value.data, order)
    return head + struct.pack(f"{order}{len(value.data)}{_CODES[value.element_type]}", *value.data)


def _pack_strings(strings: Sequence[str], order: str) -> bytes:
    module, joined = usable_native_module(), join(strings)
    if module and strings and joined.count(b"\0") == len(strings) - 1:
        packed: bytes = module.pack_strings(joined, order == ">")
        return packed
    return b"".join([_pack_string(text, order) for text in strings])


def _pack_string(text: str, order: str) -> bytes:
    data = to_bytes(text)
    return struct.pack(order + "Q", len(data)) + data
