"""Build GGUF files byte by byte, valid ones and invalid ones that no proper writer would produce."""

import struct
from array import array
from collections.abc import Mapping, Sequence

from tokverify.sources.gguf.cursor import ValueType
from tokverify.sources.gguf.metadata import Value

_CODES = dict(zip(ValueType, "BbHhIif?--Qqd", strict=True))


def string(text: str | bytes) -> Value:
    return Value(ValueType.STRING, text)


def strings(texts: Sequence[str | bytes]) -> Value:
    return Value(ValueType.ARRAY, texts, ValueType.STRING)


def numbers(kind: ValueType, values: Sequence[float]) -> Value:
    return Value(ValueType.ARRAY, values, kind)


def flag(value: bool) -> Value:
    return Value(ValueType.BOOL, value)


def uint32(value: int) -> Value:
    return Value(ValueType.UINT32, value)


def make_gguf(
    fields: Mapping[str, Value] | Sequence[tuple[str, Value]],
    *,
    version: int = 3,
    order: str = "<",
    tensors: Sequence[bytes] = (),
    counts: tuple[int, int] | None = None,
) -> bytes:
    """Build a file up to the end of its tensor table; `counts` of tensors and fields may be wrong."""
    pairs = list(fields.items() if isinstance(fields, Mapping) else fields)
    head = b"GGUF" + struct.pack(order + "IQQ", version, *(counts or (len(tensors), len(pairs))))
    body = b"".join(_pack_string(key, order) + _pack_value(value, order) for key, value in pairs)
    return head + body + b"".join(tensors)


def make_tensor(name: str, *, shape: Sequence[int] = (1,), offset: int = 0, order: str = "<") -> bytes:
    """Build one entry of the tensor table, of type F32."""
    layout = f"{order}I{len(shape)}QIQ"
    return _pack_string(name, order) + struct.pack(layout, len(shape), *shape, 0, offset)


def _pack_value(value: Value, order: str) -> bytes:
    kind = struct.pack(order + "I", value.type)
    if value.type is ValueType.STRING:
        return kind + _pack_string(value.data, order)
    if value.type is not ValueType.ARRAY:
        return kind + struct.pack(order + _CODES[value.type], value.data)
    head = kind + struct.pack(order + "IQ", value.element_type, len(value.data))
    if value.element_type is ValueType.STRING:
        return head + b"".join(_pack_string(text, order) for text in value.data)
    if value.element_type is ValueType.ARRAY:
        return head + b"".join(_pack_value(element, order)[4:] for element in value.data)
    return head + struct.pack(f"{order}{len(value.data)}{_CODES[value.element_type]}", *value.data)


def _pack_string(text: str | bytes, order: str) -> bytes:
    data = text if isinstance(text, bytes) else text.encode()
    return struct.pack(order + "Q", len(data)) + data


def plain(values: object) -> object:
    """Convert native arrays to lists, so that values can be compared."""
    return list(values) if isinstance(values, array) else values
