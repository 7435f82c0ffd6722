"""Refuse a tokenizer.json that turns a short text into a huge one, on which the library would abort the process."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable
from math import prod
from typing import TYPE_CHECKING

from tokverify.errors import UnsupportedError

if TYPE_CHECKING:
    from tokverify.files.huggingface.stage import Stage

MAX_EXPANSION = 1 << 10
"""The limit for how many times longer the stages can make a text; real ones make it at most 18 times longer."""


def require_bounded(stages: Iterable[Stage], source: str) -> None:
    """Check the stages of a normalizer or a decoder together.

    Raises:
        UnsupportedError: If they could make a text more than `MAX_EXPANSION` times longer.
    """
    if prod(map(_expansion, stages)) > MAX_EXPANSION:
        raise UnsupportedError(
            f"{source}: its stages can make a text more than {MAX_EXPANSION:,} times longer, the limit"
        )


def _expansion(stage: Stage) -> int:
    """Return how many times longer a stage can make a text."""
    if stage["type"] == "Replace":
        # A regular expression can match a single character, or between any two.
        replaced = len(stage["pattern"].get("String", "")) or 1
        return 1 + len(stage["content"]) // replaced
    if stage["type"] == "Precompiled":
        charsmap = b64decode(stage["precompiled_charsmap"])
        replacements = charsmap[4 + int.from_bytes(charsmap[:4], "little") :].split(b"\0")
        return max(1, *map(len, replacements))
    return 1
