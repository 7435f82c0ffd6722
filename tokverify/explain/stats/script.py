"""Detect the script of a line of prose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import regex

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
    scripts = set(map(_SCRIPT_OF.__getitem__, line)) - {None}
    if not _KANA.isdisjoint(scripts):
        scripts = scripts - _KANA - {"Han"} | {JAPANESE}
    if len(scripts) < 2:  # noqa: PLR2004 - nothing to count, which would take longer
        return next(iter(scripts), None)
    counts = Counter(map(_SCRIPT_OF.__getitem__, line))
    del counts[None]
    if not _KANA.isdisjoint(counts):
        counts[JAPANESE] = sum(counts.pop(script, 0) for script in (*_KANA, "Han"))
    return max(counts, key=counts.__getitem__, default=None)


def script_of_letter(character: str) -> str | None:
    """Return the script of a character as that of a line; None if it is not a letter."""
    script = _SCRIPT_OF[character]
    return JAPANESE if script in _KANA else script


def learn_scripts(characters: Iterable[str]) -> None:
    """Look up the scripts of many characters at once, which is much faster than one at a time."""
    new = sorted(set(characters) - _SCRIPT_OF.keys())
    letters = "".join(filter(str.isalpha, new))
    _SCRIPT_OF.update(dict.fromkeys(new))
    _SCRIPT_OF.update(dict.fromkeys(letters, OTHER))
    for match in _pattern().finditer(letters):
        _SCRIPT_OF.update(dict.fromkeys(match[0], _SCRIPTS[(match.lastindex or 0) - 1]))


class _Scripts(dict[str, str | None]):
    """The script of each character that was looked up; None for those that are not letters."""

    def __missing__(self, character: str) -> str | None:
        self[character] = _find_script(character)
        return self[character]


_SCRIPT_OF = _Scripts()


def _find_script(character: str) -> str | None:
    if not character.isalpha():
        return None
    match = _pattern().match(character)
    return _SCRIPTS[match.lastindex - 1] if match and match.lastindex else OTHER


@cache
def _pattern() -> regex.Pattern[str]:
    """Return a pattern with a group for each script, which matches a run of its characters."""
    import regex

    return regex.compile("|".join(rf"(\p{{Script={name}}}+)" for name in _SCRIPTS))
