"""Treat characters newer than llama.cpp's Unicode tables as llama.cpp does.

llama.cpp classifies characters by Unicode 15.1, the `regex` library by a later version. The only difference between
the two is that characters assigned since then are unassigned for llama.cpp: neither letters nor numbers nor marks.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path

UNICODE_VERSION = "15.1"
"""The version of llama.cpp's tables."""

FIRST_LETTERS = {"16.0": "\U00010d4a", "17.0": "\U00016ea0"}
"""A letter that was assigned in each later version."""

UNASSIGNED = Path(__file__).with_name("unassigned.txt")
"""The code points that Unicode 15.1 leaves unassigned, in hexadecimal (made by `tests/data/make_unassigned.py`)."""

NONCHARACTER = "\uffff"
"""A code point that no version of Unicode will ever assign."""

HAN_NONCHARACTER = "\ufffe"
"""Another one, for unassigned code points inside the ranges that llama.cpp treats as Chinese characters."""

HAN = (
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0002a6df\U0002a700-\U0002ebef\U0002f800-\U0002fa1f" + HAN_NONCHARACTER
)
"""llama.cpp's Chinese characters (`unicode_cpt_is_han` in `src/unicode.cpp`), as the inside of a character class."""


def has_unassigned(text: str) -> bool:
    """Check whether `text` contains a character that is unassigned in Unicode 15.1."""
    # Looking up the distinct characters is much faster than searching the text.
    return not text.isascii() and any(map(is_unassigned, set(text)))


@lru_cache(maxsize=1 << 16)
def is_unassigned(character: str) -> bool:
    """Check whether a character is unassigned in Unicode 15.1."""
    # A pattern would search all its ranges for a character above U+FFFF.
    return bisect_right(_bounds(), ord(character)) % 2 == 1


@cache
def _bounds() -> list[int]:
    """Return the start of each range of unassigned code points and the first code point after it, in order."""
    return list(chain.from_iterable((first, last + 1) for first, last in _ranges()))


def _ranges() -> list[tuple[int, int]]:
    bounds = [[int(bound, 16) for bound in item.split("-")] for item in UNASSIGNED.read_text(encoding="ascii").split()]
    return [(item[0], item[-1]) for item in bounds]


def blank_unassigned(text: str) -> str:
    """Replace each character that is unassigned in Unicode 15.1 by one that is unassigned in every version.

    The result has the same length in characters.
    """
    return _unassigned_pattern().sub(_blank, text)


@cache
def _unassigned_pattern() -> re.Pattern[str]:
    return re.compile("[" + "".join(rf"\U{first:08x}-\U{last:08x}" for first, last in _ranges()) + "]")


def _blank(match: re.Match[str]) -> str:
    is_han = match.group() != HAN_NONCHARACTER and _han_pattern().match(match.group())
    return HAN_NONCHARACTER if is_han else NONCHARACTER


@cache
def _han_pattern() -> re.Pattern[str]:
    return re.compile(f"[{HAN}]")


def to_lowercase(character: str) -> str:
    """Return the single character that llama.cpp uses as the lowercase of `character`."""
    # subtle: the lowercase of the dotted capital I is two characters in Unicode, of which llama.cpp keeps the first.
    lowercase = character.lower()[0]
    return character if lowercase != character and is_unassigned(character) else lowercase


def to_base(character: str) -> str:
    """Return the first character of the canonical decomposition of `character`.

    llama.cpp keeps nothing else: of a Hangul syllable, the first consonant (`unicode_cpts_normalize_nfd` in
    `src/unicode.cpp`).
    """
    base = unicodedata.normalize("NFD", character)[0]
    return character if base != character and is_unassigned(character) else base
