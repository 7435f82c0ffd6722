"""Encode texts with a reference and count them, since a server answers each one separately."""

from __future__ import annotations

from collections.abc import Sequence

from tokverify.errors import EncodeError, UnsupportedError
from tokverify.tokenizer import BatchEncoding, Tokenizer


class Queries:
    """Encodes texts with a tokenizer, and counts the encodings."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.count = 0
        """The number of texts that have been encoded."""

    def encode(self, text: str, *, add_special: bool = False, parse_special: bool = False) -> list[int] | None:
        """Encode one text; None if it cannot be encoded."""
        self.count += 1
        try:
            return self.tokenizer.encode(text, add_special=add_special, parse_special=parse_special)
        except (EncodeError, UnsupportedError):
            return None

    def encode_all(self, texts: Sequence[str], *, parse_special: bool = False) -> list[list[int] | None]:
        """Encode texts without adding special tokens; None for a text that cannot be encoded."""
        tokenizer = self.tokenizer
        if not isinstance(tokenizer, BatchEncoding):
            return [self.encode(text, parse_special=parse_special) for text in texts]
        self.count += len(texts)
        results = tokenizer.encode_many(texts, add_special=False, parse_special=parse_special)
        return [ids if isinstance(ids, list) else None for ids in results]
