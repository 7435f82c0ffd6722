"""Other spellings of pieces, and tests of how they are spelled."""

import json
import struct
import unicodedata
from dataclasses import replace

from support.made_vocabulary import USER_DEFINED
from support.mutation import Mutate, respelled
from tokverify.engine.byte_level import from_byte_level, to_byte_level
from tokverify.spec import TokenizerSpec


def is_word(id: int, token: str) -> bool:
    return token.strip(" ▁Ġ").isalpha()


def is_white_space(id: int, token: str) -> bool:
    return not token.strip()


def is_marker(token: str) -> bool:
    return token.startswith("<|")


def in_markers(old: str, new: str) -> Mutate:
    """Write all markers in another way."""
    return respelled(lambda token: token.replace(old, new) if is_marker(token) else token)


def decomposed(token: str) -> str:
    return unicodedata.normalize("NFD", token)


def without_accents(token: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFD", token) if not unicodedata.combining(char))


def without_invisible(token: str) -> str:
    return "".join(char for char in token if unicodedata.category(char) != "Cf")


def without_brackets(token: str) -> str:
    return token.replace("<|", "<").replace("|>", ">")


def as_escapes(token: str) -> str:
    """Write a piece as it looks in a JSON file that contains only ASCII."""
    return json.dumps(token, ensure_ascii=True)[1:-1]


def misread(token: str) -> str:
    """Read the UTF-8 of a piece as Latin-1, except for the mark of a space."""
    return "▁".join(part.encode().decode("latin-1") for part in token.split("▁"))


def encoded_twice(token: str) -> str:
    """Take the bytes of a byte-level piece for Latin-1, and encode them once more."""
    return to_byte_level(from_byte_level(token).decode("latin-1"))


def with_replacement_characters(token: str) -> str:
    """Decode a byte-level piece as text, which destroys incomplete characters."""
    return to_byte_level(from_byte_level(token).decode("utf-8", "replace"))


def in_other_byte_alphabet(token: str) -> str:
    """Write the bytes 7F to A0 as the characters with these numbers."""
    return "".join(chr(ord(char) - 0x121 + 0x7F) if 0x121 <= ord(char) <= 0x142 else char for char in token)


def bytes_as_characters(token: str) -> str:
    r"""Turn `\xe9` into the character with this number, which has two bytes."""
    is_byte = token.startswith("\\x") and len(token) == 4 and int(token[2:], 16) >= 0xA0
    return chr(int(token[2:], 16)) if is_byte else token


def as_surrogate_pairs(token: str) -> str:
    """Write characters outside the Basic Multilingual Plane as two surrogates of three bytes each."""
    return "".join(_as_surrogates(char) if ord(char) > 0xFFFF else char for char in token)


def _as_surrogates(char: str) -> str:
    data = char.encode("utf-16-be")
    halves = (chr(half) for half in struct.unpack(">HH", data))
    return b"".join(half.encode("utf-8", "surrogatepass") for half in halves).decode("utf-8", "surrogateescape")


def added_in_byte_alphabet(spec: TokenizerSpec) -> TokenizerSpec:
    pairs = zip(spec.tokens, spec.types, strict=True)
    return replace(spec, tokens=[to_byte_level(token) if type == USER_DEFINED else token for token, type in pairs])
