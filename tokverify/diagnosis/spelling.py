"""Spellings: how a token must be written in a file to stand for certain bytes, or as its family writes tokens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokverify.engine.attribute import Attribute
from tokverify.engine.byte_level import byte_alphabet, from_byte_level
from tokverify.engine.decoder import token_bytes
from tokverify.engine.models.plamo2 import BYTE_PIECE
from tokverify.engine.normalizer import escape_spaces, unescape_spaces
from tokverify.spec import TokenType
from tokverify.text.utf8 import to_bytes

if TYPE_CHECKING:
    from tokverify.engine.settings import Settings


def attribute_of(type: TokenType) -> int:
    """Return what llama.cpp makes of a token's type, before it overrides any."""
    return Attribute[type.name].value


def spelled(wanted: bytes, attribute: int, settings: Settings) -> str | None:
    """Return the text of a token that stands for `wanted`; None if none does."""
    text = wanted.decode("utf-8", "surrogateescape")
    in_byte_alphabet = "".join(byte_alphabet()[byte] for byte in wanted)
    byte_piece = f"<0x{wanted[0]:02X}>" if len(wanted) == 1 else text
    # subtle: a space can be written as itself or as ▁, and only what is matched in texts is written as itself.
    first = escape_spaces(text) if attribute & Attribute.NORMAL.value else text
    for candidate in (first, text, in_byte_alphabet, byte_piece):
        if token_bytes(candidate, attribute, settings) == wanted:
            return candidate
    return None


@dataclass(frozen=True, slots=True)
class Respelling:
    """A confusion that converters are known for: tokens of a type written as `models` never write them.

    `way` says how `respell` writes them instead, and `read` gives the bytes that such a token stands for.
    """

    way: str
    models: frozenset[str]
    type: TokenType
    respell: Callable[[str], str]
    read: Callable[[str], bytes]


def _read_escaped(text: str) -> bytes:
    return to_bytes(unescape_spaces(text))


def _as_word_piece(text: str) -> str:
    if text.startswith("##"):
        return text.removeprefix("##")
    is_special = text.startswith("[") and text.endswith("]")
    return text if is_special or text.startswith("▁") else f"▁{text}"


def _in_capitals(text: str) -> str:
    return f"<0x{text[3:5].upper()}>" if BYTE_PIECE.fullmatch(text) else text


def _read_byte(text: str) -> bytes:
    return bytes.fromhex(text[3:5]) if BYTE_PIECE.fullmatch(text) else b""


_ESCAPING = frozenset({"llama", "gemma4", "t5"})
_BYTE_LEVEL = frozenset({"gpt2"})
_WITH_BYTES = frozenset({"llama", "gemma4", "plamo2", "plamo3"})
_NORMAL = TokenType.NORMAL

RESPELLINGS = (
    Respelling("with ▁ for a space", _ESCAPING, _NORMAL, escape_spaces, _read_escaped),
    Respelling("with ▁ for Ġ", _ESCAPING, _NORMAL, lambda text: text.replace("Ġ", "▁"), _read_escaped),
    Respelling("with Ġ for a space", _BYTE_LEVEL, _NORMAL, lambda text: text.replace(" ", "Ġ"), from_byte_level),
    Respelling("with Ġ for ▁", _BYTE_LEVEL, _NORMAL, lambda text: text.replace("▁", "Ġ"), from_byte_level),
    Respelling("with ▁ before words, not ## within", frozenset({"bert"}), _NORMAL, _as_word_piece, _read_escaped),
    Respelling("with bytes in capitals", _WITH_BYTES, TokenType.BYTE, _in_capitals, _read_byte),
)
