"""Read the metadata of a GGUF file, independently of tokenizers and without reading tensor data.

Rules and limits are those of llama.cpp's `ggml/src/gguf.cpp`, `gguf_init_from_reader`.
"""

from __future__ import annotations

import hashlib
import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.sources.gguf.cursor import SIZES, Cursor, ValueType
from tokverify.sources.gguf.window import GgufFile, open_gguf
from tokverify.system.content import guess_content


@dataclass(frozen=True, slots=True)
class Value:
    """One metadata value."""

    type: ValueType
    data: Any
    """A number, a bool or a str; for an array a sequence of `str`, or an `array.array` (booleans are 0 and 1)."""
    element_type: ValueType | None = None
    """The type of an array's elements; None if the value is not an array."""

    @property
    def type_name(self) -> str:
        """The type in words, such as `UINT32` or `ARRAY of STRING`."""
        return self.type.name + (f" of {self.element_type.name}" if self.element_type is not None else "")


Shape = tuple[int, ...]
"""The dimensions of a tensor, starting with the one that varies fastest."""

# The most elements of an array that must be iterated or built: 30 times the longest known merge list, and few enough
# that a damaged count in a huge file does not take long.
_MAX_ELEMENTS = 1 << 24
_MAX_STRINGS = 1 << 22
_MAX_ENTRIES = 1 << 17
_MAX_KEY = (1 << 16) - 1
_MAX_TENSOR_NAME = 63
_MAX_DIMENSIONS = 4

_BLOCK = 1 << 20
_ALIGNMENT_KEY = "general.alignment"
_DEFAULT_ALIGNMENT = 32

# The minimum bytes of a key-value pair (length, one character, type, one byte) and of an entry for a tensor.
_LEAST_PAIR = 8 + 1 + 4 + 1
_LEAST_TENSOR = 8 + 4 + 4 + 8


# The first bytes of other files, and advice for each.
def read_metadata(path: Path, is_needed: Callable[[str], bool]) -> dict[str, Value]:
    """Read the values of the keys for which `is_needed` returns True, and skip the others.

    Strings that are not UTF-8 keep their bytes as lone surrogates (`surrogateescape`).

    Raises:
        BrokenFileError: If the file is not GGUF, or is damaged, or is too short for its tensor table.
        UnsupportedError: If it has a GGUF version or a kind of value that llama.cpp cannot read.
        TokverifyError: If there is no such file, or it cannot be read.
    """
    return read_file(path, is_needed)[0]


def read_file(path: Path, is_needed: Callable[[str], bool]) -> tuple[dict[str, Value], dict[str, Shape], bool]:
    """Read the values of the needed keys, the shape of each tensor, and whether the file is big-endian.

    Errors are those of `read_metadata`.
    """
    with open_gguf(path) as data:
        cursor = Cursor(path, data)
        tensor_count, key_count = read_header(cursor)
        values, alignment = _read_values(cursor, key_count, is_needed)
        shapes = read_tensors(cursor, tensor_count, alignment)
    return values, shapes, cursor.order != "<"


def find_metadata_end(path: Path, data: GgufFile) -> int:
    """Return where the tensor data of a file begins, in bytes; errors are those of `read_metadata`."""
    cursor = Cursor(path, data)
    tensor_count, key_count = read_header(cursor)
    _, alignment = find_values(cursor, key_count)
    read_tensors(cursor, tensor_count, alignment)
    return cursor.position


def hash_header(path: Path) -> str:
    """Return the SHA-256 digest, in hexadecimal, of everything before the tensor data of a file.

    Errors are those of `read_metadata`.
    """
    digest = hashlib.sha256()
    with open_gguf(path) as data:
        end = find_metadata_end(path, data)
        for start in range(0, end, _BLOCK):
            digest.update(data.read(start, min(_BLOCK, end - start)))
    return digest.hexdigest()


def read_header(cursor: Cursor) -> tuple[int, int]:
    """Read the numbers of tensors and keys, and detect the byte order; errors are those of `read_metadata`."""
    head = cursor.data.read(0, min(64, len(cursor.data)))
    if not b"GGUF".startswith(head[:4]):
        guess = guess_content(head, "name the model's .gguf file")
        raise BrokenFileError(f"{cursor.path}: not a GGUF file; it looks like {guess}")
    cursor.skip(4)
    # A version is a small number: if its low half is zero, the file has the other byte order.
    cursor.order = ">" if head[4:6] == b"\0\0" else "<"
    _check_version(cursor, cursor.uint32())
    tensor_count = _require_few(cursor, cursor.count("tensors", _LEAST_TENSOR), "tensors")
    return tensor_count, _require_few(cursor, cursor.count("key-value pairs", _LEAST_PAIR), "key-value pairs")


def _require_few(cursor: Cursor, count: int, what: str) -> int:
    if count > _MAX_ENTRIES:
        raise UnsupportedError(f"{cursor.path}: {count:,} {what} exceed the limit of {_MAX_ENTRIES:,}")
    return count


def _check_version(cursor: Cursor, version: int) -> None:
    if version == 0:
        raise cursor.damaged("GGUF version 0")
    if version == 1:
        raise UnsupportedError(
            f"{cursor.path}: this is GGUF version 1, which llama.cpp has not read since 2023; "
            "convert the original model again, or download a newer file"
        )
    if version not in {2, 3}:
        raise UnsupportedError(
            f"{cursor.path}: this is GGUF version {version}, but tokverify reads versions 2 and 3; update tokverify"
        )


def find_values(cursor: Cursor, key_count: int) -> tuple[dict[str, tuple[int, int]], int]:
    """Find the start and end, in bytes, of each key-value pair, and the alignment of tensor data."""
    places: dict[str, tuple[int, int]] = {}
    seen: set[str] = set()
    alignment = _DEFAULT_ALIGNMENT
    for _ in range(key_count):
        start = cursor.position
        key = _read_key(cursor, seen)
        value = _read_value(cursor, keep=False)
        places[key] = start, cursor.position
        if key == _ALIGNMENT_KEY:
            alignment = _alignment(cursor, value)
    return places, alignment


def _read_values(cursor: Cursor, key_count: int, is_needed: Callable[[str], bool]) -> tuple[dict[str, Value], int]:
    """Return the needed values and the alignment of tensor data."""
    values: dict[str, Value] = {}
    seen: set[str] = set()
    alignment = _DEFAULT_ALIGNMENT
    for number in range(1, key_count + 1):
        cursor.place = f"key {number} of {key_count}"
        key = _read_key(cursor, seen)
        keep = is_needed(key)
        value = _read_value(cursor, keep=keep)
        if keep:
            values[key] = value
        if key == _ALIGNMENT_KEY:
            alignment = _alignment(cursor, value)
    return values, alignment


def _read_key(cursor: Cursor, seen: set[str]) -> str:
    key = cursor.string(_MAX_KEY)
    if not key:
        raise cursor.damaged("an empty key")
    if key.isascii() and key.isprintable():  # any other key is damaged and must not be printed
        cursor.place = key
    if key in seen:
        raise cursor.damaged("the key occurs twice")
    seen.add(key)
    return key


def _read_value(cursor: Cursor, *, keep: bool) -> Value:
    kind = _read_type(cursor)
    if kind is ValueType.STRING and not keep:
        cursor.skip_string()
        return Value(kind, None)
    if kind is ValueType.STRING:
        return Value(kind, cursor.string())
    if kind is not ValueType.ARRAY:
        return Value(kind, cursor.scalar(kind))
    element_type = _read_type(cursor)
    if element_type is ValueType.ARRAY:
        raise UnsupportedError(
            f"{cursor.path}: {cursor.place}: is an array of arrays, which llama.cpp cannot read either; "
            "convert the model again without it"
        )
    return Value(kind, _read_elements(cursor, element_type, keep=keep), element_type)


def _read_type(cursor: Cursor) -> ValueType:
    number = cursor.uint32()
    try:
        return ValueType(number)
    except ValueError:
        raise cursor.damaged(f"there is no value type {number}") from None


def _read_elements(cursor: Cursor, type: ValueType, *, keep: bool) -> Sequence[str] | array[Any] | None:
    is_string = type is ValueType.STRING
    least_bytes = 8 if is_string else SIZES[type]
    count = cursor.count(f"elements of type {type.name}", least_bytes)
    if count > _MAX_ELEMENTS and (keep or is_string):
        raise cursor.damaged(f"{count} elements exceed the limit of {_MAX_ELEMENTS}")
    if keep and is_string and count > _MAX_STRINGS:
        raise UnsupportedError(f"{cursor.path}: {cursor.place}: {count:,} strings exceed the limit of {_MAX_STRINGS:,}")
    if keep:
        return cursor.strings(count) if is_string else cursor.numbers(type, count)
    if not is_string:
        cursor.skip(count * least_bytes)
        return None
    cursor.skip_strings(count)
    return None


def _alignment(cursor: Cursor, value: Value) -> int:
    if value.type is not ValueType.UINT32:
        raise cursor.damaged(f"is {value.type_name}, must be UINT32")
    alignment: int = value.data
    if alignment.bit_count() != 1:
        raise cursor.damaged(f"{alignment} is not a power of two")
    return alignment


def read_tensors(cursor: Cursor, count: int, alignment: int) -> dict[str, Shape]:
    """Read the tensor table, and check that the file is not truncated before the last tensor."""
    shapes: dict[str, Shape] = {}
    end = 0
    for number in range(1, count + 1):
        cursor.place = f"tensor {number} of {count}"
        name = cursor.string(_MAX_TENSOR_NAME)
        if name in shapes:
            raise cursor.damaged("the tensor's name occurs twice")
        shapes[name], tensor_end = _read_tensor(cursor, alignment)
        end = max(end, tensor_end)
    if count:  # subtle: without tensors, the file may end right after its metadata, without padding.
        cursor.place = "tensor data"
        cursor.skip(-cursor.position % alignment)
        if end > cursor.left:
            raise cursor.truncated(f"needs at least {end} bytes")
    return shapes


def _read_tensor(cursor: Cursor, alignment: int) -> tuple[Shape, int]:
    """Return a tensor's shape, and the minimum size of the data: its offset, plus one byte unless it is empty."""
    dimension_count = cursor.uint32()
    if dimension_count > _MAX_DIMENSIONS:
        raise cursor.damaged(f"{dimension_count} dimensions exceed the limit of {_MAX_DIMENSIONS}")
    shape = tuple(cursor.uint64() for _ in range(dimension_count))
    cursor.skip(4)  # the quantization
    offset = cursor.uint64()
    if offset % alignment:
        raise cursor.damaged(f"offset {offset} is not a multiple of {alignment}")
    return shape, offset + 1 if math.prod(shape) else offset
