"""Name the characters of a text by code point."""

from __future__ import annotations

import unicodedata

# Control characters have no Unicode name; these are the ones that tokenizers stumble over.
_CONTROL_NAMES = {
    "\x00": "NULL",
    "\t": "TAB",
    "\n": "LINE FEED",
    "\r": "CARRIAGE RETURN",
    "\x1b": "ESCAPE",
    "\x7f": "DELETE",
    "\x85": "NEXT LINE",
}


def code_points(text: str) -> list[str]:
    """Name each character, such as `U+0020 SPACE`; a byte that is not UTF-8 is `byte 0x80`."""
    return [_name(character) for character in text]


def _name(character: str) -> str:
    if "\udc80" <= character <= "\udcff":
        return f"byte 0x{ord(character) & 0xFF:02X}"
    name = unicodedata.name(character, "") or _CONTROL_NAMES.get(character, "(no name)")
    return f"U+{ord(character):04X} {name}"
