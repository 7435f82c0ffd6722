"""Decode tokens of the C++ hybrid tokenizer: join words, and restore spaces by rule.

Spaces are never encoded. A piece that continues a word begins with `##`; all others begin a word. Two words are
separated by a space unless one of them is an operator, a sign, a newline or a special token. `_` counts as a letter,
and there is no space between a path prefix in a diff (`a/`) and the path.
"""

from __future__ import annotations

import re

from tokverify.engine.byte_level import from_byte_level, to_byte_level
from tokverify.engine.models.cpp.vocabulary import CONTINUATION, MARKERS, NEWLINES, PATH_PREFIXES, SPECIAL, SYMBOLS

_TIGHT = sorted({*SPECIAL, *SYMBOLS, *NEWLINES} - {"_"})
_TIGHT_WORDS = frozenset(text.encode() for text in _TIGHT)
_TIGHT_AFTER = _TIGHT_WORDS | {prefix.encode() for prefix in PATH_PREFIXES}


def continues(piece: str) -> bool:
    """Check whether a piece continues the word before it; the operator `##` does not."""
    return piece.startswith(CONTINUATION) and piece != CONTINUATION


def piece_bytes(piece: str) -> bytes:
    """Return the bytes that a piece represents in any position."""
    if piece in NEWLINES:
        return piece.encode()
    text = MARKERS.get(piece, piece)
    return from_byte_level(text.removeprefix(CONTINUATION) if continues(text) else text)


def has_space(before: bytes, word: bytes) -> bool:
    """Check whether the rule puts a space between two words."""
    return before not in _TIGHT_AFTER and word not in _TIGHT_WORDS


class Spacing:
    """Joins pieces one by one by the rule; a word is complete when the next one begins."""

    def __init__(self) -> None:
        self._word = b""
        self._before: bytes | None = None

    def push(self, piece: str, token_bytes: bytes) -> bytes:
        """Add the next piece and its bytes; return the bytes that are now complete."""
        if continues(piece):
            self._word += token_bytes
            return b""
        complete = self.finish()
        self._word = token_bytes
        return complete

    def finish(self) -> bytes:
        """Return the last word, and the space before it if there is one."""
        word, self._word = self._word, b""
        if not word:
            return b""
        before, self._before = self._before, word
        return b" " + word if before is not None and has_space(before, word) else word


def library_rules() -> tuple[tuple[tuple[str, str], ...], tuple[str, str]]:
    """Return the same rule as patterns and replacements, all in the byte-level alphabet.

    The first ones apply to each piece separately and add a space before every word; the last one applies to the joined
    pieces and removes superfluous spaces.
    """
    space = to_byte_level(" ")
    tight = "|".join(re.escape(to_byte_level(text)) for text in _TIGHT)
    after = "|".join([tight, *PATH_PREFIXES])
    each = (
        (rf"\A(?!{CONTINUATION}.)", space),
        (rf"\A{CONTINUATION}(?=.)", ""),
        *((rf"\A{space}{piece}\z", space + text) for piece, text in MARKERS.items()),
        (r"\n", to_byte_level("\n")),
    )
    too_many = rf"\A{space}|{space}(?=(?:{tight})(?![^{space}]))|(?<=(?:\A|{space})(?:{after})){space}"
    return each, (too_many, "")
