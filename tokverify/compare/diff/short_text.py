"""Compare the ids of all short ASCII texts, so that no proof is longer than necessary."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

from tokverify.errors import EncodeError, UnsupportedError
from tokverify.texts.sample import Sample
from tokverify.tokenizer import BatchEncoding

if TYPE_CHECKING:
    from tokverify.compare.diff.version import Version

_PRINTABLE = [chr(code) for code in range(ord(" "), ord("~") + 1)]
SHORT_TEXTS = (*_PRINTABLE, *map("".join, product(_PRINTABLE, repeat=2)))
"""The texts of one or two printable ASCII characters, the shortest first."""
_MAX_SAMPLES = 300
"""The number of texts to return for each kind of difference."""


def find_short_samples(old: Version, new: Version) -> list[Sample]:
    """Return short texts that get other ids, and such that get another number of them.

    Only files are asked: a server or a program would need thousands of requests.
    """
    before, after = _encode(old), _encode(new)
    if before is None or after is None:
        return []
    pairs = list(zip(SHORT_TEXTS, before, after, strict=True))
    other_ids = [text for text, was, became in pairs if was != became]
    other_counts = [text for text, was, became in pairs if len(was) != len(became)]
    texts = dict.fromkeys([*other_ids[:_MAX_SAMPLES], *other_counts[:_MAX_SAMPLES]])
    return [Sample(text, add_special=False, parse_special=False) for text in texts]


def _encode(version: Version) -> Sequence[Sequence[int]] | None:
    """Return the ids of all short texts, none for a text that cannot be encoded; None if that takes too long."""
    tokenizer = version.tokenizer
    is_file = version.is_gguf or version.path is not None
    if not is_file or not isinstance(tokenizer, BatchEncoding):
        return None
    encoded = tokenizer.encode_many(SHORT_TEXTS, add_special=False, parse_special=False)
    return [() if isinstance(ids, EncodeError | UnsupportedError) else tuple(ids) for ids in encoded]
