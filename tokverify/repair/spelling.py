"""Spellings: the text that a token needs to represent certain bytes, or that its family would store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter

from tokverify.engine.attribute import Attribute
from tokverify.engine.byte_level import from_byte_level, spell_bytes
from tokverify.engine.families import find_family
from tokverify.engine.families.rwkv import RWKV
from tokverify.engine.family import Alphabet, Family, Settings
from tokverify.engine.normalizer import escape_spaces, unescape_spaces
from tokverify.engine.special_text import BYTE_PIECE
from tokverify.sources.rwkv import escape
from tokverify.spec import TokenType
from tokverify.text.utf8 import to_bytes


def text_of_bytes(data: bytes, model: str) -> str:
    """Return the text with which a model's family stores an ordinary token that represents some bytes."""
    family = find_family(model)
    if family and family.alphabet is Alphabet.BYTE_LEVEL:
        return spell_bytes(data)
    return escape_spaces(data.decode("utf-8", "surrogateescape"))


def spell_token(expected: bytes, attribute: int, settings: Settings) -> str | None:
    """Return the text of a token that represents `expected`, or None if there is none."""
    text = expected.decode("utf-8", "surrogateescape")
    byte_piece = f"<0x{expected[0]:02X}>" if len(expected) == 1 else text
    # subtle: both a space and ▁ represent a space, but only tokens that are matched in texts are stored with spaces.
    first = escape_spaces(text) if attribute & Attribute.NORMAL.value else text
    candidates = [first, text, spell_bytes(expected), byte_piece]
    if settings.family is RWKV:
        candidates = [escape(expected)]
    if attribute & Attribute.BYTE.value:
        # llama.cpp reads any other text as some byte, too.
        candidates = [byte_piece]
    for candidate in candidates:
        if "\0" not in candidate and settings.family.token_bytes(candidate, attribute, settings) == expected:
            return candidate
    return None


@dataclass(frozen=True, slots=True)
class Respelling:
    """A known mistake of converters: tokens stored in a way that their family never uses."""

    description: str
    """How `respell` stores them instead, such as `with ▁ instead of Ġ`."""
    applies: Callable[[Family], bool]
    """Whether a family never stores tokens in the wrong way."""
    type: TokenType
    """The type of the tokens concerned."""
    respell: Callable[[str], str]
    """Returns the right text; a text that is not affected is returned unchanged."""
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


def _is_escaped(family: Family) -> bool:
    return family.alphabet is Alphabet.ESCAPED


def _is_byte_level(family: Family) -> bool:
    return family.alphabet is Alphabet.BYTE_LEVEL


_splits_words, _has_byte_pieces = attrgetter("splits_words"), attrgetter("has_byte_pieces")
_NORMAL = TokenType.NORMAL

RESPELLINGS = (
    Respelling("with ▁ instead of spaces", _is_escaped, _NORMAL, escape_spaces, _read_escaped),
    Respelling("with ▁ instead of Ġ", _is_escaped, _NORMAL, lambda text: text.replace("Ġ", "▁"), _read_escaped),
    Respelling(
        "with Ġ instead of spaces", _is_byte_level, _NORMAL, lambda text: text.replace(" ", "Ġ"), from_byte_level
    ),
    Respelling("with Ġ instead of ▁", _is_byte_level, _NORMAL, lambda text: text.replace("▁", "Ġ"), from_byte_level),
    Respelling(
        "with ▁ at word starts instead of ## inside words", _splits_words, _NORMAL, _as_word_piece, _read_escaped
    ),
    Respelling("with uppercase hexadecimal digits", _has_byte_pieces, TokenType.BYTE, _in_uppercase, _read_byte),
)
