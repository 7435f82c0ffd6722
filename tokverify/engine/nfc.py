"""Compose characters as llama.cpp does: Unicode's normalization form C, of Unicode 16.0 whatever version Python has.

Python may know an earlier or a later version. What it says of characters that were assigned in both never changes, so
the others are listed here, and a text that contains one is composed step by step.

Source: `unicode_cpts_normalize_nfc` of b11739, whose tables are of another version than llama.cpp's other ones.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import groupby
from unicodedata import combining, normalize

from tokverify.engine.rewriting import Rewriting
from tokverify.engine.unicode_version import has_unassigned, is_unassigned
from tokverify.text.utf8 import decode_leniently, encode_leniently, to_bytes, to_text

CLASSES = {
    "\u0897": 230, "\U00010d69": 230, "\U00010d6a": 230, "\U00010d6b": 230, "\U00010d6c": 230, "\U00010d6d": 230,
    "\U00010efd": 220, "\U00010efe": 220, "\U00010eff": 220, "\U000113ce": 9, "\U000113cf": 9, "\U000113d0": 9,
    "\U00011f41": 9, "\U00011f42": 9, "\U0001612f": 9, "\U0001e08f": 230, "\U0001e4ec": 232, "\U0001e4ed": 232,
    "\U0001e4ee": 220, "\U0001e4ef": 230, "\U0001e5ee": 230, "\U0001e5ef": 220,
}  # fmt: skip
"""The canonical combining classes of the marks that were assigned in Unicode 15.0 to 16.0."""

DECOMPOSITIONS = {
    "\U000105c9": "\U000105d2\u0307", "\U000105e4": "\U000105da\u0307", "\U00011383": "\U00011382\U000113c9",
    "\U00011385": "\U00011384\U000113bb", "\U0001138e": "\U0001138b\U000113c2", "\U00011391": "\U00011390\U000113c9",
    "\U000113c5": "\U000113c2\U000113c2", "\U000113c7": "\U000113c2\U000113b8", "\U000113c8": "\U000113c2\U000113c9",
    "\U00016121": "\U0001611e\U0001611e", "\U00016122": "\U0001611e\U00016129", "\U00016123": "\U0001611e\U0001611f",
    "\U00016124": "\U00016129\U0001611f", "\U00016125": "\U0001611e\U00016120", "\U00016126": "\U00016121\U0001611f",
    "\U00016127": "\U00016122\U0001611f", "\U00016128": "\U00016121\U00016120", "\U00016d68": "\U00016d67\U00016d67",
    "\U00016d69": "\U00016d63\U00016d67", "\U00016d6a": "\U00016d69\U00016d67",
}  # fmt: skip
"""The two characters that each character with a canonical decomposition of Unicode 16.0 consists of."""

_COMPOSITIONS = {pair: character for character, pair in DECOMPOSITIONS.items()}
_LATER = re.compile(f"[{''.join(CLASSES)}]")


def to_nfc(text: str) -> str:
    """Return `text` in normalization form C."""
    if text.isascii():
        return text
    is_later = has_unassigned(text) or _LATER.search(text) is not None
    return _compose(_sort("".join(map(_decompose, text)))) if is_later else normalize("NFC", text)


def cut_to_nfc(text: str) -> str:
    """Return a text with lone bytes in normalization form C; llama.cpp reads code points first, and writes them again.

    Raises:
        EncodeError: If the bytes represent a number above U+10FFFF, on which llama.cpp aborts.
    """
    return to_text(encode_leniently(to_nfc(decode_leniently(to_bytes(text)))))


def trace_nfc(text: str) -> Rewriting:
    """Return `text` in normalization form C, and what has become of its parts."""
    rewriting = Rewriting()
    for part in _parts().findall(text):
        rewriting.replace(part, to_nfc(part))
    return rewriting


@cache
def _parts() -> re.Pattern[str]:
    """Return the pattern of a character and those after it that it can be composed with."""
    import regex

    joining = rf"[\p{{M}}\u1160-\u11ff{''.join(CLASSES)}{''.join(pair[1] for pair in _COMPOSITIONS)}]"
    parts: re.Pattern[str] = regex.compile(rf".{joining}*", regex.DOTALL)
    return parts


def canonical_class(character: str) -> int:
    """Return the canonical combining class of a character; 0 if it begins a group."""
    later = CLASSES.get(character)
    return later if later is not None else 0 if is_unassigned(character) else combining(character)


def compose_pair(pair: str) -> str | None:
    """Return the character that two characters compose, if any."""
    later = _COMPOSITIONS.get(pair)
    if later or any(map(is_unassigned, pair)):
        return later
    composed = normalize("NFC", pair)
    return composed if len(composed) == 1 else None


def _decompose(character: str) -> str:
    if character in DECOMPOSITIONS:
        return "".join(map(_decompose, DECOMPOSITIONS[character]))
    return character if is_unassigned(character) else normalize("NFD", character)


def _sort(text: str) -> str:
    """Sort each run of marks by class; sorting is stable."""
    runs = groupby(text, key=lambda character: canonical_class(character) > 0)
    return "".join("".join(sorted(run, key=canonical_class) if are_marks else run) for are_marks, run in runs)


def _compose(text: str) -> str:
    composed: list[str] = []
    start = last_class = 0
    for character in text:
        own_class = canonical_class(character)
        # A mark of the same or a higher class between them hinders composition.
        if composed and (last_class == 0 or last_class < own_class):
            joined = compose_pair(composed[start] + character)
            if joined:
                composed[start] = joined
                continue
        if own_class == 0:
            start = len(composed)
        composed.append(character)
        last_class = own_class
    return "".join(composed)
