"""Write the lines of a diff as `patch` reads them: the head of each hunk, and a space before each unchanged line."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tokverify.engine.models.cpp.vocabulary import MARKERS, NEWLINES

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
