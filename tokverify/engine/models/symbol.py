"""Convert texts to symbols: what llama.cpp's unigram model treats as the characters of a normalized text.

The first byte of each step determines its length (`unicode_len_utf8`). In UTF-8, steps are characters. But a normalizer
can leave parts of characters, and the step over such a part includes some of the following bytes; and a token can
contain any bytes. Here every step is written as one character, so that texts and pieces can be compared as strings.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from tokverify.engine.charsmap import character_size
from tokverify.errors import UnsupportedError
from tokverify.text.utf8 import from_utf8

UNKNOWN = "\ud801"
"""Represents each step that is not a character and does not occur in any piece."""
FIRST, LAST = 0xD802, 0xDFFF
"""The lone surrogates that represent steps that are not characters but occur in pieces."""
BROKEN = re.compile("[\udc80-\udcff](?:[^\udc80-\udcff]{0,3}[\udc80-\udcff])*[^\udc80-\udcff]{0,3}")
"""Bytes that are not UTF-8, with all that a step over them can include: up to three more bytes or characters."""


class Symbols:
    """Converts strings to symbols; in the strings, bytes that are not UTF-8 are lone surrogates (`surrogateescape`)."""

    def __init__(self) -> None:
        self._symbols: dict[bytes, str] = {}

    def of_pieces(self, pieces: Collection[str]) -> Collection[str]:
        """Convert the pieces of a vocabulary, so that their symbols are recognized in texts.

        Raises:
            UnsupportedError: If the pieces contain more broken characters than there are surrogates.
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
                    raise UnsupportedError(f"more than {LAST - FIRST + 1} characters of the tokens are not UTF-8")
                self._symbols[step] = chr(code_point)

    def of_text(self, text: str) -> str:
        """Convert a normalized text."""
        return text if _is_utf8(text) else BROKEN.sub(lambda match: self._convert_broken(match[0]), text)

    def sizes(self, text: str) -> list[int]:
        """Return the number of bytes of a normalized text that each of its symbols represents."""
        return list(map(len, steps(text)))

    def _convert_broken(self, text: str) -> str:
        return "".join(from_utf8(step) or self._symbols.get(step, UNKNOWN) for step in steps(text))


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def steps(text: str) -> Iterator[bytes]:
    """Yield the steps of llama.cpp over a text; the last one may be truncated."""
    data = text.encode("utf-8", "surrogateescape")
    start = 0
    while start < len(data):
        end = start + character_size(data[start])
        yield data[start:end]
        start = end
