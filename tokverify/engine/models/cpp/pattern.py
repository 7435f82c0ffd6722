r"""How the C++ hybrid tokenizer rewrites a line and cuts it into pre-tokens.

What is rewritten is what two stages of HuggingFace's library cannot do otherwise: the sign that marks a line of a diff
becomes the piece of its token, and a space is put into what only looks like a piece. Spaces end words and are never
encoded. A line is what lies between newlines and special tokens, which are cut out before.

The patterns are written so that Oniguruma, which HuggingFace's library uses, and the package `regex` read them alike:
only ASCII is named by classes, and `\A` stands for the beginning of a line.
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
"""The place in `<NAME>` and `##name` where a space goes: a word of a string literal is looked up as a whole."""

ADDED_LINE = rf"\A\+(?:(?=\+\+|--|->)(?!\+\+{_AT_END})|(?![+=]))"
REMOVED_LINE = rf"\A-(?:(?=\+\+|--|->)(?!--{_AT_END})|(?![-=>]))"
"""The sign of a diff, unless it begins an operator, or the header of a file."""

REWRITES = ((LOOK_ALIKE, " "), *zip((ADDED_LINE, REMOVED_LINE), MARKERS, strict=True))
"""Patterns and what is put in their place, one after the other."""

LONGEST_PATH = 250
"""Characters; after a longer path in a line `diff --git`, the `b/` of the next one is not recognized."""

_OPERATOR = "|".join(re.escape(operator) for operator in sorted(OPERATORS, key=len, reverse=True))
_ESCAPE = r"\\(?:[0-7]{1,3}|x[0-9A-Fa-f]+|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)"

# subtle: Oniguruma tries every length that a look-behind can have, at each `b/` of a line.
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
"""Diff marker, header of a diff, path in it, end of a hunk's place, operator, directive, string, character, number,
word, sign."""

PATTERN = "|".join(ALTERNATIVES)
"""What a line is cut into; it leaves out spaces alone. Literals may hold spaces and are then cut at those."""


def rewrite(line: str) -> str:
    """Return the line that is cut into pre-tokens."""
    for replace in _rewriters():
        line = replace(line)
    return line


def cut(line: str) -> list[str]:
    """Cut a rewritten line; literals are left whole."""
    chunks: list[str] = _compiled(PATTERN).findall(line)
    return chunks


def words(line: str) -> Iterator[str]:
    """Yield the pre-tokens of a line, which hold no spaces."""
    for chunk in cut(rewrite(line)):
        yield from split_at_spaces(chunk)


@cache
def _rewriters() -> tuple[Callable[[str], str], ...]:
    return tuple(_rewriter(pattern, content) for pattern, content in REWRITES)


def _rewriter(pattern: str, content: str) -> Callable[[str], str]:
    substitute = _compiled(pattern).sub
    return lambda line: str(substitute(content, line))


@cache
def _compiled(pattern: str) -> Any:  # noqa: ANN401 - the regex library has no types
    import regex

    return regex.compile(pattern, regex.V1)
