"""Find the characters that two charsmaps replace differently."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache

from tokverify.engine.charsmap import Charsmap
from tokverify.engine.encoder import Encoder
from tokverify.errors import EncodeError, TokverifyError
from tokverify.tokenizer import Declaring, Tokenizer


def find_replaced_differently(actual: Encoder, expected: Tokenizer) -> Sequence[str]:
    """Return the characters, alone or decomposed, that llama.cpp replaces differently from a reference with a charsmap.

    There are none if the model uses no charsmap, or the reference does not say whether it has one.
    """
    if not actual.settings.family.uses_charsmap or not isinstance(expected, Declaring):
        return ()
    try:
        theirs = expected.declared_spec().charsmap
        return _compare(actual.spec.charsmap, theirs) if actual.spec.charsmap != theirs else ()
    except TokverifyError:
        return ()


@lru_cache(maxsize=2)
def _compare(first: bytes | None, second: bytes | None) -> tuple[str, ...]:
    charsmaps = [None if data is None else Charsmap(data) for data in (first, second)]
    return tuple(text for text in _texts() if len({_replace(charsmap, text.encode()) for charsmap in charsmaps}) > 1)


def _replace(charsmap: Charsmap | None, data: bytes) -> bytes | None:
    """Return what becomes of a text; None if llama.cpp aborts on it."""
    try:
        length, replacement = (charsmap.match(data, 0) if charsmap else None) or (0, b"")
    except EncodeError:
        return None
    return replacement + data[length:]


@cache
def _texts() -> tuple[str, ...]:
    """Return the characters that some normalization changes or that are no letters, and their decompositions."""
    texts: dict[str, None] = {}
    for character in map(chr, range(sys.maxunicode + 1)):
        category = unicodedata.category(character)
        if category in {"Cn", "Co", "Cs"}:
            continue
        folded = unicodedata.normalize("NFKC", character).casefold()
        if folded != character or category[0] in "CZM":
            texts[character] = None
            texts[unicodedata.normalize("NFD", character)] = None
    return tuple(texts)
