"""Refuse a tokenizer.json on which the library would abort the process or run forever."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable
from math import prod
from typing import TYPE_CHECKING

from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.system.library_error import raised_as

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from tokverify.sources.huggingface.stage import Stage

MAX_EXPANSION = 1 << 10
"""The limit for how many times longer the stages can make a text; real ones make it at most 18 times longer."""

_HEADER = 4
_SHOWN = 20


def require_bounded(stages: Iterable[Stage], source: str) -> None:
    """Check the stages of a normalizer or a decoder together.

    Raises:
        UnsupportedError: If they could make a text more than `MAX_EXPANSION` times longer.
    """
    if prod(map(_expansion, stages)) > MAX_EXPANSION:
        raise UnsupportedError(
            f"{source}: its stages can make a text more than {MAX_EXPANSION:,} times longer, the limit"
        )


def require_visible_added_tokens(tokenizer: Tokenizer, source: str) -> None:
    """Check that something is left of each added token that is looked for in normalized texts.

    subtle: the library would find such a token between any two bytes, panic inside characters, and never end with some
    combinations of tokens.

    Raises:
        BrokenFileError: If the normalizer cannot normalize an added token.
        UnsupportedError: If it removes one.
    """
    normalizer = tokenizer.normalizer
    if normalizer is None:
        return
    for id, token in tokenizer.get_added_tokens_decoder().items():
        if not token.normalized:
            continue
        with raised_as(BrokenFileError, f"{source}: the added token {id} cannot be normalized", quietly=True):
            is_left = bool(normalizer.normalize_str(token.content))
        if not is_left:
            raise UnsupportedError(
                f"{source}: the normalizer removes the added token {id} {token.content[:_SHOWN]!r}, and tokenizers "
                "cannot encode with such a token; set its `normalized` to false"
            )


def require_valid_charsmaps(part: object, source: str) -> None:
    """Check the charsmaps in a part of a document before the library reads them: it reserves the memory they ask for.

    Raises:
        BrokenFileError: If a charsmap is no text in base64, or declares another size than it has.
    """
    if isinstance(part, list):
        for item in part:
            require_valid_charsmaps(item, source)
    if not isinstance(part, dict):
        return
    for item in part.values():
        require_valid_charsmaps(item, source)
    if part.get("type") == "Precompiled" and not _is_charsmap(part.get("precompiled_charsmap")):
        raise BrokenFileError(f"{source}: normalizer Precompiled: the charsmap is damaged; download the file again")


def _is_charsmap(text: object) -> bool:
    if not isinstance(text, str):
        return False
    try:
        data = b64decode(text, validate=True)
    except ValueError:
        return False
    return len(data) > _HEADER and _HEADER + int.from_bytes(data[:_HEADER], "little") <= len(data)


def _expansion(stage: Stage) -> int:
    """Return how many times longer a stage can make a text."""
    if stage["type"] == "Replace":
        # A regular expression can match a single character, or between any two.
        replaced = len(stage["pattern"].get("String", "")) or 1
        return 1 + len(stage["content"]) // replaced
    if stage["type"] == "Precompiled":
        charsmap = b64decode(stage["precompiled_charsmap"])
        replacements = charsmap[_HEADER + int.from_bytes(charsmap[:_HEADER], "little") :].split(b"\0")
        return max(1, *map(len, replacements))
    return 1
