"""Detect the script of a line of prose."""

from __future__ import annotations

from collections import Counter
from functools import cache

OTHER = "other"
JAPANESE = "Japanese"

UNSPACED = frozenset({"Han", JAPANESE, "Thai", "Lao", "Khmer", "Myanmar", "Tibetan"})
"""The scripts without spaces between words."""

_KANA = frozenset({"Hiragana", "Katakana"})
_SCRIPTS = (
    "Latin", "Han", "Hiragana", "Katakana", "Hangul", "Cyrillic", "Arabic", "Devanagari", "Greek", "Hebrew", "Thai",
    "Bengali", "Gurmukhi", "Gujarati", "Oriya", "Tamil", "Telugu", "Kannada", "Malayalam", "Sinhala", "Lao", "Khmer",
    "Myanmar", "Tibetan", "Georgian", "Armenian", "Ethiopic", "Mongolian", "Bopomofo", "Syriac", "Thaana", "Cherokee",
    "Canadian_Aboriginal", "Tifinagh", "Nko", "Yi",
)  # fmt: skip


def script_of_line(line: str) -> str | None:
    """Return the script of most letters in a line; None if there are no letters.

    In a line with kana, Chinese characters count as Japanese.
    """
    if line.isascii():
        return "Latin" if line.lower() != line.upper() else None
    counts: Counter[str] = Counter()
    for character, count in Counter(line).items():
        if character.isalpha():
            counts[_script(character)] += count
    if not _KANA.isdisjoint(counts):
        counts[JAPANESE] = sum(counts.pop(script, 0) for script in (*_KANA, "Han"))
    return max(counts, key=counts.__getitem__, default=None)


@cache
def _script(character: str) -> str:
    import regex

    return next((name for name in _SCRIPTS if regex.match(rf"\p{{Script={name}}}", character)), OTHER)
