"""Split texts at hard boundaries: places that no merge can cross, so that splitting there does not change the result.

The first merge that crosses the boundary between two characters merges a symbol that ends with the first character and
a symbol that begins with the second. If no possible merge does that, the text can be split there exactly. The parts are
short, about one word each in most languages.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from itertools import islice, pairwise
from operator import add

SPACE = "▁"


def adjacent_pairs(pieces: Iterable[str]) -> set[str]:
    """Collect every two adjacent characters in the pieces, which must not contain NUL."""
    joined = "\0".join(pieces)
    pairs = set(map(add, joined, islice(joined, 1, None)))
    return {pair for pair in pairs if "\0" not in pair}


def split_parts(text: str, pairs: Container[str]) -> list[str]:
    """Split a text between every two characters that a merge cannot join; none for an empty text.

    `pairs` are the two characters on either side of every place that a merge can cross.
    """
    places = [place for place, pair in enumerate(pairwise(text), start=1) if "".join(pair) not in pairs]
    return [text[start:end] for start, end in pairwise([0, *places, len(text)])] if text else []
