"""Join the pieces of the C++ hybrid tokenizer line by line, so that the text encodes to the same ids again."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tokverify.engine.models.cpp.line import write_line
from tokverify.engine.models.cpp.spacing import Spacing, continues
from tokverify.engine.models.cpp.vocabulary import MARKERS, NEWLINES, SPECIAL
from tokverify.text.utf8 import from_utf8

_ENDS = frozenset([*SPECIAL, *NEWLINES])
"""The tokens that end a line."""


class LineJoiner:
    """Joins pieces one by one; a line is complete when the next one begins."""

    def __init__(self) -> None:
        self._pieces: list[tuple[str, bytes]] = []
        self._before = ""
        self._hunks = HunkReader()

    def push(self, piece: str, token_bytes: bytes) -> bytes:
        """Take the next piece and its bytes; return the bytes that are now complete."""
        if piece not in _ENDS:
            self._pieces.append((piece, token_bytes))
            return b""
        # Two single newlines would be read as the token for two.
        gap = b" " if not self._pieces and self._before == NEWLINES[0] and piece in NEWLINES else b""
        line = self.finish()
        self._before = piece
        self._hunks.end_line(piece)
        return line + gap + token_bytes

    def finish(self) -> bytes:
        """Return the last line."""
        pieces, self._pieces = self._pieces, []
        line = _group_words(pieces)
        if line is None:
            return _join_by_rule(pieces)
        return self._hunks.write(line, write_line).encode()


def _group_words(pieces: list[tuple[str, bytes]]) -> list[str] | None:
    """Join the pieces of each word; None if a word is not UTF-8. Markers of a diff stay pieces."""
    words: list[bytes] = []
    for piece, token_bytes in pieces:
        if continues(piece) and words:
            words[-1] += token_bytes
        elif token_bytes:
            words.append(piece.encode() if piece in MARKERS else token_bytes)
    decoded = [from_utf8(word) for word in words]
    known = [word for word in decoded if word is not None]
    return known if len(known) == len(words) else None


def _join_by_rule(pieces: list[tuple[str, bytes]]) -> bytes:
    spacing = Spacing()
    return b"".join([spacing.push(*piece) for piece in pieces]) + spacing.finish()


_HEAD = re.compile(r"@@ - (\d+)(?: , (\d+))? \+ (\d+)(?: , (\d+))? @@(?: |\Z)")
"""The head of a hunk, with its words separated by spaces."""
_ADDED, _REMOVED = MARKERS
_NO_NEWLINE = ["\\", "No", "newline"]
"""The first words of the remark that a file does not end with a newline."""

WriteLine = Callable[[Sequence[str], frozenset[int]], str]


class HunkReader:
    """Counts the lines of the current hunk, so that unchanged lines are recognized."""

    def __init__(self) -> None:
        self._old = 0
        self._new = 0

    def write(self, line: Sequence[str], write_line: WriteLine) -> str:
        """Write a line, with the spaces that `patch` needs."""
        head = _HEAD.match(" ".join(line))
        if head:
            self._old, self._new = (int(head[group] or 1) for group in (2, 4))
            signs = len(head[0].split())
            return write_line(line, frozenset({1, line.index("+", 2), signs - 1, signs} & set(range(len(line)))))
        if not line or not (self._old or self._new) or [*line[:3]] == _NO_NEWLINE:
            return write_line(line, frozenset())
        is_added, is_removed = line[0] == _ADDED, line[0] == _REMOVED
        self._old -= self._old > 0 and not is_added
        self._new -= self._new > 0 and not is_removed
        return write_line(line, frozenset() if is_added or is_removed else frozenset({0}))

    def end_line(self, piece: str) -> None:
        """Take the token that ends a line; an empty line is unchanged, and special tokens end a hunk."""
        if piece not in NEWLINES:
            self._old = self._new = 0
        elif piece == NEWLINES[1]:
            self._old -= self._old > 0
            self._new -= self._new > 0
