"""Make texts that pre-tokenizers split in different places, however few tokens show it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokverify.engine.encoder import Encoder

# subtle: no two of them compose, so that a normalizer, which GGUF cannot express, changes none of the texts.
_CHARACTERS = ("a", "B", "s", "1", " ", "\t", "\n", "\r", "'", ".", "/", "_", "é", "中", "\u0947", "😀")
"""One of each kind that the patterns of pre-tokenizers distinguish."""
_LENGTH = 3
_MOST_DIGITS = 8


def split_texts(encoder: Encoder) -> Iterator[str]:
    """Yield all short sequences of the characters, and runs of digits; nothing if the family has no choice of names."""
    family = encoder.settings.family
    if not family.uses_pre_tokenizer or family.pre:
        return
    yield from map("".join, product(_CHARACTERS, repeat=_LENGTH))
    yield from ("1" * count for count in range(2, _MOST_DIGITS))
