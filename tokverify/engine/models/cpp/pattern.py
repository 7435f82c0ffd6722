r"""Rewrite a line and split it into pre-tokens like the C++ hybrid tokenizer.

The rewriting makes two stages of HuggingFace's library possible: the sign that marks a line of a diff becomes the piece
of its token, and a space is inserted into text that only looks like a piece. Spaces end words and are never encoded. A
line is the text between newlines and special tokens, which have already been split off.

The patterns mean the same in Oniguruma, which HuggingFace's library uses, and in the package `regex`: classes name only
ASCII characters, and `\A` is the beginning of a line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from tokverify.engine.models.cpp.vocabulary import DIRECTIVE_NAMES, MARKERS, OPERATORS
from tokverify.engine.normalizer import split_at_spaces

_SPACE = r" \t\n\u000b\f\r\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_PUNCTUATION = r"!-/:-@\[-\^`{-~"
_WORD = rf"[^{_SPACE}{_PUNCTUATION}]"
_AT_END = rf"(?![^{_SPACE}])"

LOOK_ALIKE = rf"(?<=\A<|[{_SPACE}]<)(?=[A-Z0-9_]+>)|(?<=\A##|[{_SPACE}]##)(?=[^{_SPACE}])"
"""Where a space is inserted in `<NAME>` and `##name`, because words of string literals are looked up as a whole."""

ADDED_LINE = rf"\A\+(?:(?=\+\+|--|->)(?!\+\+{_AT_END})|(?![+=]))"
REMOVED_LINE = rf"\A-(?:(?=\+\+|--|->)(?!--{_AT_END})|(?![-=>]))"
"""The sign of a diff, unless it begins an operator or a file header."""

REWRITES = ((LOOK_ALIKE, " "), *zip((ADDED_LINE, REMOVED_LINE), MARKERS, strict=True))
"""Patterns and their replacements, applied in order."""

LONGEST_PATH = 250
"""In characters; after a longer path in a line `diff --git`, the `b/` of the second path is not recognized."""

_OPERATOR = "|".join(re.escape(operator) for operator in sorted(OPERATORS, key=len, reverse=True))
_ESCAPE = r"\\(?:[0-7]{1,3}|x[0-9A-Fa-f]+|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)"

# subtle: Oniguruma tries every possible length of a look-behind, at each `b/` of a line.
_AFTER_PATH = rf"(?<=\Adiff --git [^{_SPACE}]{{1,{LONGEST_PATH}}} b/)"

ALTERNATIVES = (
    rf"\A(?:{'|'.join(MARKERS)})",
    rf"\A(?:\+\+\+|---){_AT_END}",
    rf"a/(?:(?<=\A--- a/)|(?<=\Adiff --git a/))|b/(?:(?<=\A\+\+\+ b/)|{_AFTER_PATH})",
    "@@",
    _OPERATOR,
    rf"#(?:{'|'.join(DIRECTIVE_NAMES)})(?!{_WORD})",
    rf'(?:u8|[uUL])?R?(?<!\\)"(?>(?:[^"\\\n]|\\.)*)"(?:(?![0-9]){_WORD}+)?',
    rf"(?:u8|[uUL])?'(?:[^'\\\n]|{_ESCAPE})'",
    rf"[0-9]{_WORD}*(?:'[0-9A-Fa-f]{_WORD}*)*",
    rf"{_WORD}+",
    rf"[{_PUNCTUATION}]",
)
"""Diff marker, diff header, path prefix, `@@` of a hunk, operator, directive, string, character, number, word, sign."""

PATTERN = "|".join(ALTERNATIVES)
"""Matches everything in a line except spaces. Literals can contain spaces and are then split at them."""


def rewrite(line: str) -> str:
    """Rewrite a line before it is split."""
    for replace in _rewriters():
        line = replace(line)
    return line


def split(line: str) -> list[str]:
    """Split a rewritten line; literals stay whole."""
    chunks: list[str] = _compile(PATTERN).findall(line)
    return chunks


def words(line: str) -> Iterator[str]:
    """Yield the pre-tokens of a line, which contain no spaces."""
    for chunk in split(rewrite(line)):
        yield from split_at_spaces(chunk)


@cache
def _rewriters() -> tuple[Callable[[str], str], ...]:
    return tuple(_rewriter(pattern, content) for pattern, content in REWRITES)


def _rewriter(pattern: str, content: str) -> Callable[[str], str]:
    substitute = _compile(pattern).sub
    return lambda line: str(substitute(content, line))


@cache
def _compile(pattern: str) -> Any:  # noqa: ANN401 - the regex library has no types
    import regex

    return regex.compile(pattern, regex.V1)
