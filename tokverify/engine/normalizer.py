"""Normalize texts before they are encoded."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from tokverify.engine.unicode_version import is_unassigned, to_base, to_lowercase

ESCAPED_SPACE = "▁"
_has_separator = re.compile("[\x1c-\x1f]").search


# subtle: only Python treats four control characters, the information separators, as spaces too.
WHITE_SPACE = re.compile(r"[^\S\x1c-\x1f]")
"""Matches one character of Unicode's white space."""


def escape_spaces(text: str) -> str:
    """Write each space as `▁` (U+2581), as sentencepiece does."""
    return text.replace(" ", ESCAPED_SPACE)


def unescape_spaces(piece: str) -> str:
    """Read each `▁` (U+2581) as a space."""
    return piece.replace(ESCAPED_SPACE, " ")


def split_at_spaces(text: str) -> list[str]:
    """Split `text` at Unicode whitespace into words, none of them empty."""
    if _has_separator(text):
        return [word for word in WHITE_SPACE.split(text) if word]
    return text.split()


@cache
def word_normalizer(*, lowercase: bool, strip_accents: bool, keeps_marks: bool = False) -> Callable[[str], str]:
    """Return BERT's cleanup: drop control characters, and add spaces around punctuation and Chinese characters.

    With `strip_accents`, a character is reduced to the first one of its canonical decomposition, and combining marks
    are dropped, unless `keeps_marks`, as before b9642. Source: `llm_tokenizer_wpm_session::preprocess` in llama.cpp's
    `src/llama-vocab.cpp`.
    """
    table = _WordTable(lowercase=lowercase, strip_accents=strip_accents, keeps_marks=keeps_marks)
    return lambda text: text.translate(table)


def lowercase_normalizer() -> Callable[[str], str]:
    """Return the function that converts each character of a text to lowercase separately."""
    table = _LowercaseTable()
    return lambda text: text.translate(table)


class _LowercaseTable(dict[int, str]):
    """Maps code points for `str.translate`, each computed on first use."""

    def __missing__(self, code_point: int) -> str:
        self[code_point] = to_lowercase(chr(code_point))
        return self[code_point]


class _WordTable(dict[int, str]):
    """Maps code points to the results of BERT's cleanup."""

    def __init__(self, *, lowercase: bool, strip_accents: bool, keeps_marks: bool) -> None:
        super().__init__()
        self._drops_marks = strip_accents and not keeps_marks
        self._lowercase = lowercase
        self._strip_accents = strip_accents

    def __missing__(self, code_point: int) -> str:
        self[code_point] = self._normalize(chr(code_point))
        return self[code_point]

    def _normalize(self, character: str) -> str:
        character = to_base(character) if self._strip_accents else character
        # Chinese characters are recognized by code point, assigned or not.
        if _CHINESE.match(character):
            return f" {character} "
        if is_unassigned(character):
            return character
        match = _kinds().match(character)
        kind = match.lastgroup if match else None
        if kind == "space":
            return " "
        if kind == "dropped" or (kind == "mark" and self._drops_marks):
            return ""
        # subtle: the kind of a character is determined before it is converted to lowercase.
        normalized = to_lowercase(character) if self._lowercase else character
        return f" {normalized} " if kind == "alone" else normalized


# subtle: one range begins 0x100 too late, as in the HF library, and the later blocks are missing.
_CHINESE = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b81f"
    "\U0002b920-\U0002ceaf\U0002f800-\U0002fa1f]"
)


@cache
def _kinds() -> re.Pattern[str]:
    import regex

    kinds: re.Pattern[str] = regex.compile(
        r"(?P<space>[^\S\x1c-\x1f])|(?P<dropped>[\p{Cc}\p{Cf}\p{Co}\p{Cs}\ufffd])|(?P<mark>\p{M})"
        r"|(?P<alone>[\p{P}$+<=>^`|~])"
    )
    return kinds
