"""The words of findings: tokens and lists, short enough for a sentence.

Tokens are quoted as they are; making them visible is left to whoever shows the sentence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.formats.verdict import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["listed", "plural", "quoted", "shortened", "tokens"]

_MAX_TEXT = 60
_MAX_LISTED = 5
_MAX_SENTENCE = 500


def quoted(text: str) -> str:
    """Quote a text, the rest of a very long one left out."""
    return f'"{text}"' if len(text) <= _MAX_TEXT else f'"{text[:_MAX_TEXT]}…" ({len(text):,} characters)'


def shortened(text: str) -> str:
    """Leave out the rest of a very long sentence."""
    return text if len(text) <= _MAX_SENTENCE else f"{text[:_MAX_SENTENCE]}…"


def listed(items: Iterable[str], most: int = _MAX_LISTED) -> str:
    """List the first few items, and say how many there are more."""
    every = list(items)
    left_out = len(every) - most
    return ", ".join(every) if left_out <= 0 else f"{', '.join(every[:most])} and {left_out:,} more"


def tokens(ids: Iterable[int], pieces: Sequence[str] | Mapping[int, str]) -> str:
    """List tokens with their texts, such as `5 "<mask>", 9 "<s>" and 3 more`."""
    return listed(f"{id} {quoted(pieces[id])}" for id in ids)
