"""Build texts in which a piece meets others of its script.

A score decides only between several ways to split the same text, so a changed score may show in no other text.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice

from tokverify.engine.normalizer import unescape_spaces

_MAX_TEXTS = 6000
"""The number of texts altogether."""
_MAX_PER_PIECE = 300
_MAX_LETTERS = 60
"""The number of letters per script: those that the vocabulary lists first, which are the most frequent ones."""
_MAX_LENGTH = 100
"""In characters; longer pieces are left out."""


def neighbor_texts(changed: Sequence[str], pieces: Sequence[str]) -> Iterator[str]:
    """Yield texts of each changed piece between letters of its script, and of the `pieces` that begin with it."""
    limit = min(_MAX_PER_PIECE, _MAX_TEXTS // max(1, len(changed)))
    if not limit:
        return
    texts = [unescape_spaces(piece) for piece in pieces if len(piece) <= _MAX_LENGTH]
    letters = _group_letters(texts)
    for piece in changed:
        if len(piece) <= _MAX_LENGTH:
            yield from islice(_surround(unescape_spaces(piece), texts, letters), limit)


def _group_letters(texts: Sequence[str]) -> dict[str, list[str]]:
    """Return the letters among the texts by script."""
    letters: dict[str, list[str]] = defaultdict(list)
    for letter in dict.fromkeys(map(str.strip, texts)):
        if len(letter) == 1 and letter.isalpha() and len(letters[_script(letter)]) < _MAX_LETTERS:
            letters[_script(letter)].append(letter)
    return letters


def _script(letter: str) -> str:
    """Return the first word of a letter's name, such as CYRILLIC."""
    return unicodedata.name(letter, "").partition(" ")[0]


def _surround(text: str, texts: Sequence[str], letters: dict[str, list[str]]) -> Iterator[str]:
    last = next(filter(str.isalpha, reversed(text)), "")
    near = letters.get(_script(last), []) if last else []
    yield from (text + letter for letter in near)
    yield from (letter + text for letter in near)
    yield from (longer for longer in texts if longer != text and longer.startswith(text))
    yield from (letter + text + letter for letter in near)
