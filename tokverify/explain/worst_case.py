"""Prove how many tokens a text can need at most, from the vocabulary alone."""

from __future__ import annotations

from itertools import pairwise
from unicodedata import normalize

from tokverify.engine.byte_level import byte_alphabet
from tokverify.engine.family import Alphabet, Settings
from tokverify.engine.normalizer import ESCAPED_SPACE, escape_spaces, word_normalizer
from tokverify.report.inspect import WorstCase
from tokverify.text.utf8 import has_surrogate, to_bytes

_ROWS = range(0x10000, 0x110000, 0x40)
"""One character for each beginning of four bytes."""
_SHORTEST = 2
_SYLLABLES = range(0xAC00, 0xD7A4)
"""Korean syllables, of which NFD makes two or three letters; it makes more of no character but accents."""


def find_worst_case(settings: Settings, *, is_gguf: bool = True) -> WorstCase | None:
    """Return the most tokens for each byte and each character, if they are known.

    They are in WordPiece and in the families that merge neighbors and fall back to bytes, where each token stands for
    at least one byte of the text. The normalizers of the others can make several characters of one.
    """
    family = settings.family
    if family.splits_words and family.in_llama_cpp:
        return _find_for_words(settings) if is_gguf else _find_for_decomposed_words(settings)
    is_byte_level = family.alphabet is Alphabet.BYTE_LEVEL and family.is_bpe and not settings.escape_whitespaces
    if not (is_byte_level or family.byte_fallback) or not family.in_llama_cpp or settings.nfc or settings.lowercase:
        return None
    # A space is one byte, but its escaped form could need three byte tokens.
    if settings.escape_whitespaces and escape_spaces(" ") not in settings.ids:
        return None
    prefix = int(settings.add_space_prefix and family.prefixes_space)
    # A space is added after each added token, too; one of two bytes makes room for it.
    if prefix and any(len(to_bytes(token.text)) < _SHORTEST for token in settings.added_tokens):
        return None
    around = sum(map(len, family.affix_roles(settings)))
    needs_all = _all_bytes_level if is_byte_level else _all_bytes
    text = next((text for text in map(chr, _ROWS) if needs_all(settings, text)), "")
    return WorstCase(per_byte=1, per_character=4, around=around + prefix, text=text)


def _all_bytes_level(settings: Settings, text: str) -> bool:
    """Check whether every byte of a character becomes a token: no two of them are one."""
    pieces = [byte_alphabet()[byte] for byte in text.encode()]
    pairs = map("".join, pairwise(pieces))
    return all(piece in settings.ids for piece in pieces) and not any(
        pair in settings.ids for pair in (*pairs, "".join(pieces))
    )


def _all_bytes(settings: Settings, text: str) -> bool:
    """Check whether a character has no token but those of its bytes."""
    return text not in settings.ids and all(f"<0x{byte:02X}>" in settings.ids for byte in text.encode())


def _find_for_words(settings: Settings) -> WorstCase | None:
    """Return the worst case of WordPiece in llama.cpp, which makes one character of each, or none.

    Each piece contains at least one character of the word, except for a lone `▁` at its beginning. If the next
    piece has more than one character, `▁` is counted as a token of the first of them. So only a character with a piece
    of its own that begins no word costs two tokens, and none costs more.
    """
    ids = settings.ids
    if has_surrogate("".join(settings.pieces)):
        # A piece that is not UTF-8 can match a part of a character.
        return None
    clean = word_normalizer(
        lowercase=settings.lowercase, strip_accents=settings.strip_accents, keeps_marks=settings.keeps_marks
    )
    split = [
        piece
        for piece in (settings.pieces if ESCAPED_SPACE in ids else ())
        if len(piece) == 1 and ESCAPED_SPACE + piece not in ids and clean(piece).strip() == piece
    ]
    text = min(split, default="!")
    return WorstCase(
        per_byte=2 if split and text.isascii() else 1,
        per_character=2 if split else 1,
        around=sum(map(len, settings.family.affix_roles(settings))),
        text=text,
    )


def _find_for_decomposed_words(settings: Settings) -> WorstCase:
    """Return the worst case of HuggingFace's WordPiece, whose words do not contain a `▁`.

    Its normalizer makes several characters only of Korean syllables and a few others (NFD), or of U+0130 in lowercase,
    and never more than the character has bytes.
    """
    most = 3 if settings.strip_accents else 2 if settings.lowercase else 1
    texts = {3: map(chr, _SYLLABLES), 2: ["\u0130"], 1: ["!"]}[most]
    return WorstCase(
        per_byte=1,
        per_character=most,
        around=sum(map(len, settings.family.affix_roles(settings))),
        text=next((text for text in texts if most == 1 or _spells(settings, text, most)), ""),
    )


def _spells(settings: Settings, text: str, most: int) -> bool:
    """Check whether the normalizer makes `most` letters of a character, and each of them becomes a token."""
    letters = normalize("NFD", text.lower())
    pieces = [ESCAPED_SPACE + letters[0], *letters[1:]]
    longer = [letters[1:end] for end in range(3, most + 1)]
    longer += [ESCAPED_SPACE + letters[:end] for end in range(2, most + 1)]
    return len(letters) == most and settings.ids.keys() >= set(pieces) and settings.ids.keys().isdisjoint(longer)
