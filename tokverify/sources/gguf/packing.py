"""Pack metadata as GGUF stores it."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from tokverify.engine.engine_choice import usable_native_module
from tokverify.engine.joined_strings import join
from tokverify.sources.gguf.cursor import ValueType
from tokverify.sources.gguf.metadata import Value
from tokverify.text.utf8 import to_bytes

_CODES = {
    ValueType.UINT8: "B",
    ValueType.INT8: "b",
    ValueType.UINT32: "I",
    ValueType.INT32: "i",
    ValueType.FLOAT32: "f",
    ValueType.BOOL: "?",
}


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
