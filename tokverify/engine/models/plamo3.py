"""Encode with PLaMo 3: the pieces and costs of PLaMo 2, in segments that no piece crosses.

A marker such as `<|plamo:bos|>` is a segment even if it is not parsed as a token, and so is a run of two or more
spaces, or of four or more of any other character except a line feed. U+EE00 ends a segment and is dropped.

Source: `llm_tokenizer_plamo2::encode` in llama.cpp's `src/llama-vocab.cpp`.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

from tokverify.engine.rewriting import Rewriting
from tokverify.engine.trace import ModelTrace, Word

if TYPE_CHECKING:
    from tokverify.engine.models.plamo2 import Plamo2

BOUNDARY = "\uee00"

_MARKERS = re.compile(r"(<\|plamo:[^|\s]{0,64}\|>)")
_RUNS = re.compile(r"( {2,}|(.)\2{3,})")


class Plamo3:
    """Encodes texts; `plamo2` encodes each segment."""

    def __init__(self, plamo2: Plamo2) -> None:
        self._plamo2 = plamo2

    def encode(self, text: str) -> list[int]:
        """Encode `text`; unlike PLaMo 2, this includes a byte order mark at its beginning."""
        return list(chain.from_iterable(map(self._plamo2.encode_segment, segments(text))))

    def encode_cut(self, text: str) -> list[int]:
        """Encode `text` with lone bytes."""
        return self._plamo2.encode_broken(text, self.encode)

    def trace(self, text: str) -> ModelTrace:
        """Encode `text` and record how; U+EE00 is dropped."""
        rewriting = Rewriting()
        words: list[Word] = []
        place = 0
        for segment in segments(text):
            begin = text.index(segment, place)
            rewriting.replace(text[place:begin], "")
            rewriting.keep(segment)
            words += self._plamo2.trace_segment(segment, words[-1].end if words else 0)
            place = begin + len(segment)
        rewriting.replace(text[place:], "")
        return ModelTrace(rewriting, tuple(words))


def segments(text: str) -> list[str]:
    """Split `text` into its segments, none of them empty; the split does not depend on other lines."""
    parts = chain.from_iterable(map(_split_at_runs, _MARKERS.split(text)))
    pieces = chain.from_iterable(part.split(BOUNDARY) for part in parts)
    return [piece for piece in pieces if piece]


def _split_at_runs(text: str) -> list[str]:
    parts = _RUNS.split(text)
    # Every run is followed by its second group, which exists only for the back-reference.
    del parts[2::3]
    return parts
