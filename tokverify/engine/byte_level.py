"""Write bytes as characters of the GPT-2 alphabet, and read them back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache

from tokverify.text.utf8 import decode_leniently, encode_leniently, to_bytes

SPELLED_SPACE = "Ġ"
"""A space in the GPT-2 alphabet."""
_NO_BYTE = "\uffff"
"""A character beyond the alphabet and Latin-1."""


@cache
def byte_alphabet() -> Mapping[int, str]:
    """Return the GPT-2 alphabet: a printable character for each byte.

    Bytes that are printable in Latin-1 map to themselves, the others to U+0100 and up, in order. Source:
    `bytes_to_unicode` in the GPT-2 encoder.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(0x100) if byte not in printable]
    alphabet = {byte: chr(byte) for byte in printable}
    return alphabet | {byte: chr(0x100 + index) for index, byte in enumerate(others)}


def byte_pieces() -> list[str]:
    """Return the pieces of the 256 bytes, by value."""
    alphabet = byte_alphabet()
    return [alphabet[byte] for byte in range(0x100)]


def to_byte_level(text: str) -> str:
    """Write each byte of the text's UTF-8 as a character of the GPT-2 alphabet; the text may contain surrogates."""
    return spell_bytes(encode_leniently(text))


def spell_bytes(data: bytes) -> str:
    """Write each byte as a character of the GPT-2 alphabet."""
    return data.decode("latin-1").translate(byte_alphabet())


def spell_all(tokens: Collection[bytes]) -> list[str]:
    """Write the bytes of many tokens as `spell_bytes` does, in a third of the time."""
    joined = _NO_BYTE.join([token.decode("latin-1") for token in tokens])
    return joined.translate(byte_alphabet()).split(_NO_BYTE) if tokens else []


@cache
def _latin_characters() -> Mapping[int, str]:
    """Map each character of the alphabet to that of Latin-1 with its byte, and others of Latin-1 to one beyond it."""
    others = dict.fromkeys(range(0x100), _NO_BYTE)
    return others | {ord(character): chr(byte) for byte, character in byte_alphabet().items()}


@cache
def _bytes_by_character() -> Mapping[str, bytes]:
    return {character: bytes([byte]) for byte, character in byte_alphabet().items()}


def from_byte_level(piece: str, *, overlong: bool = False) -> bytes:
    """Convert a piece in the GPT-2 alphabet to bytes.

    A character outside the alphabet becomes llama.cpp's placeholder: `[UNK_BYTE_0x`, its UTF-8 in hexadecimal, the
    whole piece again, `]`. What is not UTF-8 is read as `decode_leniently` does, with `overlong` as before b11739.
    Source: `llama_decode_text` in llama.cpp's `src/llama-vocab.cpp`.
    """
    spelled = read_bytes(piece)
    if spelled is not None:
        return spelled
    known, whole = _bytes_by_character(), to_bytes(piece)
    characters = decode_leniently(whole, overlong=overlong)
    return b"".join(known.get(character) or _placeholder(character, whole) for character in characters)


def read_bytes(piece: str) -> bytes | None:
    """Convert a piece in the GPT-2 alphabet to bytes; None if it contains any other character."""
    try:
        return piece.translate(_latin_characters()).encode("latin-1")
    except UnicodeEncodeError:
        return None


def count_placeholders(piece: str) -> int:
    """Count the characters outside the GPT-2 alphabet, for each of which a decoded piece contains the piece once."""
    return len(piece.translate(_deletions()))


@cache
def _deletions() -> Mapping[int, None]:
    return dict.fromkeys(map(ord, byte_alphabet().values()))


def _placeholder(character: str, piece: bytes) -> bytes:
    return b"[UNK_BYTE_0x" + encode_leniently(character).hex().encode() + piece + b"]"
