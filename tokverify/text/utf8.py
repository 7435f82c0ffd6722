"""Convert between text and UTF-8, including bytes that belong to no character.

Such lone bytes are represented as lone surrogates, like Python's `surrogateescape`.
"""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Sequence
from typing import cast

from tokverify.errors import EncodeError

_LENIENT, _OVERLONG = "tokverify-llama-cpp", "tokverify-llama-cpp-overlong"
"""The names under which Python knows how llama.cpp decodes bytes that are not UTF-8, now and in earlier builds."""

_SEQUENCE = re.compile(rb"[\x00-\x7f]|[\xc0-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf7][\x80-\xbf]{3}")
_STRICT_SEQUENCE = re.compile(
    rb"[\x00-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xef][\x80-\xbf]{2}"
    rb"|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}"
)
_ENCODED_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
_LONE_BYTE = re.compile("[\udc80-\udcff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def has_surrogate(text: str) -> bool:
    """Whether a string contains a lone surrogate, so that UTF-8 cannot carry it."""
    return _SURROGATE.search(text) is not None


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


def describe_bad_byte(data: bytes) -> str:
    """Name the first byte that is not UTF-8, and its offset; empty if there is none."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return f"byte 0x{data[error.start]:02X} at offset {error.start:,}"
    return ""


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


def decode_leniently(data: bytes, *, overlong: bool = False) -> str:
    """Decode bytes as llama.cpp's `unicode_cpts_from_utf8` does.

    It also decodes surrogates, which stay surrogates here. Any other byte that belongs to no character becomes U+FFFD.
    With `overlong`, as before b11739, it decodes everything that has only the form of UTF-8, overlong sequences too.

    Raises:
        EncodeError: If a sequence represents a number above U+10FFFF, with `overlong`.
    """
    return data.decode("utf-8", _OVERLONG if overlong else _LENIENT)


def encode_leniently(text: str) -> bytes:
    """Encode a text that may contain surrogates, as llama.cpp's `unicode_cpt_to_utf8` does."""
    return text.encode("utf-8", "surrogatepass")


def sequence_length(data: bytes, start: int, *, overlong: bool) -> int:
    """Return the length of the character at `start`; 0 if there is none.

    It can be a surrogate; with `overlong`, it is anything that has only the form of UTF-8.
    """
    match = (_SEQUENCE if overlong else _STRICT_SEQUENCE).match(data, start)
    return match.end() - start if match else 0


def _decode_surrogate(error: UnicodeError) -> tuple[str, int]:
    """Decode the surrogate at which Python's decoder stopped, or replace a byte."""
    failed = cast("UnicodeDecodeError", error)
    start = failed.start
    if _ENCODED_SURROGATE.match(failed.object, start):
        return failed.object[start : start + 3].decode("utf-8", "surrogatepass"), start + 3
    return "\N{REPLACEMENT CHARACTER}", start + 1


def _decode_sequence(error: UnicodeError) -> tuple[str, int]:
    """Decode the sequence at which Python's decoder stopped."""
    failed = cast("UnicodeDecodeError", error)
    start = failed.start
    length = sequence_length(failed.object, start, overlong=True)
    if not length:
        return "\N{REPLACEMENT CHARACTER}", start + 1
    code_point = failed.object[start] & 0x7F >> length
    for byte in failed.object[start + 1 : start + length]:
        code_point = code_point << 6 | byte & 0x3F
    if code_point > sys.maxunicode:
        raise EncodeError(f"the bytes at offset {start:,} represent U+{code_point:X}; llama.cpp aborts on such a text")
    return chr(code_point), start + length


codecs.register_error(_LENIENT, _decode_surrogate)
codecs.register_error(_OVERLONG, _decode_sequence)
