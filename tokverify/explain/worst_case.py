"""The most tokens that a text can need, proven from the vocabulary."""

from __future__ import annotations

from itertools import pairwise

from tokverify.engine.byte_level import byte_alphabet
from tokverify.engine.family import Alphabet, Settings
from tokverify.engine.normalizer import escape_spaces
from tokverify.report.inspect import WorstCase

_ROWS = range(0x10000, 0x110000, 0x40)
"""One character for each beginning of four bytes."""
_SHORTEST = 2


def find_worst_case(settings: Settings) -> WorstCase | None:
    """Return the most tokens for each byte and each character, if each token stands for at least one byte of the text.

    That is so in the families that merge neighbors and fall back to bytes. It is not known of the others, whose
    normalizers can make several characters of one, or whose words have a longest size.
    """
    family = settings.family
    is_byte_level = family.alphabet is Alphabet.BYTE_LEVEL and family.is_bpe and not settings.escape_whitespaces
    if not (is_byte_level or family.byte_fallback) or not family.in_llama_cpp or settings.nfc or settings.lowercase:
        return None
    # A space is one byte, but its escaped form could need three byte tokens.
    if settings.escape_whitespaces and escape_spaces(" ") not in settings.ids:
        return None
    prefix = int(settings.add_space_prefix and family.prefixes_space)
    # A space is added after each added token, too; one of two bytes makes room for it.
    if prefix and any(
        len(token.text.encode("utf-8", "surrogateescape")) < _SHORTEST for token in settings.added_tokens
    ):
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
