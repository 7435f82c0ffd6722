"""Text as UTF-8, and what is left of a character that was cut in two.

A lone byte, one that belongs to no character, is written as a lone surrogate, as Python's `surrogateescape` does.
"""

from __future__ import annotations

import re

from tokverify.errors import EncodeError

_LONE_BYTE = re.compile("[\udc80-\udcff]")


def to_utf8(text: str) -> bytes:
    """Return the bytes of a text that is to be encoded.

    Raises:
        EncodeError: If it holds a lone surrogate.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        surrogate = f"U+{ord(text[error.start]):04X}"
        raise EncodeError(
            f"the text has a lone surrogate ({surrogate}) at character {error.start}; UTF-8 cannot carry it"
        ) from None


def from_utf8(data: bytes) -> str | None:
    """Return the text that bytes hold; None if they are not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def to_bytes(piece: str) -> bytes:
    """Return the bytes of a stored string, lone bytes included."""
    return piece.encode("utf-8", "surrogateescape")


def has_lone_byte(text: str) -> bool:
    """Whether some byte of `text` belongs to no character."""
    return _LONE_BYTE.search(text) is not None


def replace_lone_bytes(text: str) -> str:
    """Write U+FFFD for each byte that belongs to no character, as llama.cpp's `unicode_cpts_from_utf8` does."""
    return _LONE_BYTE.sub("\N{REPLACEMENT CHARACTER}", text)
