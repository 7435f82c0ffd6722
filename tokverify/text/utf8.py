"""Convert between text and UTF-8, including bytes that belong to no character.

Such lone bytes are represented as lone surrogates, like Python's `surrogateescape`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tokverify.errors import EncodeError

_LONE_BYTE = re.compile("[\udc80-\udcff]")


def to_utf8(text: str) -> bytes:
    """Return the UTF-8 bytes of a text to be tokenized.

    Raises:
        EncodeError: If the text contains a lone surrogate.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        surrogate = f"U+{ord(text[error.start]):04X}"
        raise EncodeError(
            f"the text has a lone surrogate ({surrogate}) at character {error.start}; UTF-8 cannot carry it"
        ) from None


def decode_utf8(data: bytes) -> str:
    """Return the text of UTF-8 bytes to be tokenized.

    Raises:
        EncodeError: If they are not UTF-8.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise EncodeError(
            f"the text is not UTF-8: it has the byte 0x{data[error.start]:02X} at offset {error.start}"
        ) from None


def find_not_utf8(texts: Sequence[str | bytes]) -> int | None:
    """Return the index of the first text that is not UTF-8 or contains a lone surrogate."""
    for index, text in enumerate(texts):
        try:
            to_utf8(text) if isinstance(text, str) else decode_utf8(text)
        except EncodeError:
            return index
    return None


def from_utf8(data: bytes) -> str | None:
    """Decode bytes; None if they are not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def to_bytes(piece: str) -> bytes:
    """Return the bytes of a piece, including lone bytes."""
    return piece.encode("utf-8", "surrogateescape")


def to_text(data: bytes) -> str:
    """Return the text of bytes, including lone bytes."""
    return data.decode("utf-8", "surrogateescape")


def has_lone_byte(text: str) -> bool:
    """Check whether `text` contains a byte that belongs to no character."""
    return _LONE_BYTE.search(text) is not None


def replace_lone_bytes(text: str) -> str:
    """Replace each byte that belongs to no character by U+FFFD, as llama.cpp's `unicode_cpts_from_utf8` does."""
    return _LONE_BYTE.sub("\N{REPLACEMENT CHARACTER}", text)
