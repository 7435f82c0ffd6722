"""Spellings: the text that a token needs to represent certain bytes, or that its family would store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokverify.engine.attribute import Attribute
from tokverify.engine.decoder import token_bytes
from tokverify.engine.models.plamo2 import BYTE_PIECE
from tokverify.engine.normalizer import escape_spaces, unescape_spaces
from tokverify.engine.pre_tokenizer import byte_alphabet, from_byte_level
from tokverify.spec import TokenType
from tokverify.text.utf8 import to_bytes

if TYPE_CHECKING:
    from tokverify.engine.settings import Settings


def attribute_of(type: TokenType) -> int:
    """Return llama.cpp's attribute for a type, before it overrides any."""
    return Attribute[type.name].value


def spell_bytes(wanted: bytes, attribute: int, settings: Settings) -> str | None:
    """Return the text of a token that represents `wanted`, or None if there is none."""
    text = wanted.decode("utf-8", "surrogateescape")
    in_byte_alphabet = "".join(byte_alphabet()[byte] for byte in wanted)
    byte_piece = f"<0x{wanted[0]:02X}>" if len(wanted) == 1 else text
    # subtle: both a space and ▁ represent a space, but only tokens that are matched in texts are stored with spaces.
    first = escape_spaces(text) if attribute & Attribute.NORMAL.value else text
    for candidate in (first, text, in_byte_alphabet, byte_piece):
        if token_bytes(candidate, attribute, settings) == wanted:
            return candidate
    return None


@dataclass(frozen=True, slots=True)
class Respelling:
    """A known mistake of converters: tokens stored in a way that their family never uses."""

    description: str
    """How `respell` stores them instead, such as `with ▁ instead of Ġ`."""
    models: frozenset[str]
    """The families that never use the wrong way, by `tokenizer.ggml.model`."""
    type: TokenType
    """The type of the tokens concerned."""
    respell: Callable[[str], str]
    """Returns the right text; an unaffected text is returned as it is."""
    read: Callable[[str], bytes]
    """Returns the bytes that a token with the right text represents."""


def _read_escaped(text: str) -> bytes:
    return to_bytes(unescape_spaces(text))


def _as_word_piece(text: str) -> str:
    if text.startswith("##"):
        return text.removeprefix("##")
    is_special = text.startswith("[") and text.endswith("]")
    return text if is_special or text.startswith("▁") else f"▁{text}"


def _in_uppercase(text: str) -> str:
    return f"<0x{text[3:5].upper()}>" if BYTE_PIECE.fullmatch(text) else text


def _read_byte(text: str) -> bytes:
    return bytes.fromhex(text[3:5]) if BYTE_PIECE.fullmatch(text) else b""


_ESCAPING = frozenset({"llama", "gemma4", "t5"})
_BYTE_LEVEL = frozenset({"gpt2"})
_WITH_BYTES = frozenset({"llama", "gemma4", "plamo2", "plamo3"})
_NORMAL = TokenType.NORMAL

RESPELLINGS = (
    Respelling("with ▁ instead of spaces", _ESCAPING, _NORMAL, escape_spaces, _read_escaped),
    Respelling("with ▁ instead of Ġ", _ESCAPING, _NORMAL, lambda text: text.replace("Ġ", "▁"), _read_escaped),
    Respelling("with Ġ instead of spaces", _BYTE_LEVEL, _NORMAL, lambda text: text.replace(" ", "Ġ"), from_byte_level),
    Respelling("with Ġ instead of ▁", _BYTE_LEVEL, _NORMAL, lambda text: text.replace("▁", "Ġ"), from_byte_level),
    Respelling(
        "with ▁ at word starts instead of ## inside words", frozenset({"bert"}), _NORMAL, _as_word_piece, _read_escaped
    ),
    Respelling("with uppercase hexadecimal digits", _WITH_BYTES, TokenType.BYTE, _in_uppercase, _read_byte),
)
