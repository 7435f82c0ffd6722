"""Symbols: what llama.cpp's unigram model takes for the characters of a normalized text.

It steps over bytes as the first byte of each step tells (`unicode_len_utf8`). Of UTF-8 that makes characters. But a
normalizer can leave parts of characters behind, and a step over one takes in some of what follows; and a token can hold
any bytes. Here every step is written as one character, so that texts and pieces can be compared as strings.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from tokverify.engine.charsmap import character_size
from tokverify.engine.models.memory import Memory
from tokverify.errors import UnsupportedError
from tokverify.text.utf8 import from_utf8

UNKNOWN = "\ud801"
"""Stands for each step that is no character and occurs in no piece."""
FIRST, LAST = 0xD802, 0xDFFF
"""The lone surrogates that stand for those that occur in pieces."""
BROKEN = re.compile("[\udc80-\udcff](?:[^\udc80-\udcff]{0,3}[\udc80-\udcff])*[^\udc80-\udcff]{0,3}")
"""Bytes that are not UTF-8 with all that a step over them can take in: three more bytes, if not whole characters."""


class Symbols:
    """Writes strings as symbols; in these, bytes that are not UTF-8 are lone surrogates (`surrogateescape`)."""

    def __init__(self) -> None:
        self._symbols: dict[bytes, str] = {}
        self._memory = Memory(self._of_broken)

    def of_pieces(self, pieces: Collection[str]) -> Collection[str]:
        """Write the pieces of a vocabulary, whose symbols are then recognized in texts.

        Raises:
            UnsupportedError: If the pieces hold more broken characters than there are surrogates.
        """
        if _is_utf8("".join(pieces)):
            return pieces
        for piece in pieces:
            self._learn(piece)
        return list(map(self.of_text, pieces))

    def _learn(self, piece: str) -> None:
        for step in [] if _is_utf8(piece) else steps(piece):
            if from_utf8(step) is None and step not in self._symbols:
                code_point = FIRST + len(self._symbols)
                if code_point > LAST:
                    raise UnsupportedError(f"over {LAST - FIRST + 1} characters of the tokens are not UTF-8")
                self._symbols[step] = chr(code_point)

    def of_text(self, text: str) -> str:
        """Write a normalized text."""
        return text if _is_utf8(text) else BROKEN.sub(lambda match: self._memory[match[0]], text)

    def sizes(self, text: str) -> list[int]:
        """Return how many bytes of a normalized text each of its symbols stands for."""
        return list(map(len, steps(text)))

    def _of_broken(self, text: str) -> str:
        return "".join(from_utf8(step) or self._symbols.get(step, UNKNOWN) for step in steps(text))


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def steps(text: str) -> Iterator[bytes]:
    """Yield what llama.cpp steps over in a text; the last step may be cut short."""
    data = text.encode("utf-8", "surrogateescape")
    start = 0
    while start < len(data):
        end = start + character_size(data[start])
        yield data[start:end]
        start = end
