"""Hide what a tokenizer declares, so that only its ids and the bytes and pieces of its tokens remain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tokverify.texts.batch import Encoded, encode_all
from tokverify.texts.mode import Mode
from tokverify.tokenizer import Tokenizer, why_hidden


class IdsOnly:
    """A tokenizer without the types, special ids and declarations of another one."""

    decodes_as_llama_cpp = False

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self.name = tokenizer.name
        self.vocab_size = tokenizer.vocab_size
        self.hidden_vocabulary = why_hidden(tokenizer)
        self.parses_special = tokenizer.parses_special
        self.adds_special = tokenizer.adds_special
        self.special_ids: Mapping[str, int] = {}

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Encode a text to ids."""
        return self._tokenizer.encode(text, add_special=add_special, parse_special=parse_special)

    def encode_many(self, texts: Sequence[str], *, add_special: bool, parse_special: bool) -> Sequence[Encoded]:
        """Encode texts, in one call if the tokenizer can."""
        return encode_all(self._tokenizer, texts, [Mode(add_special, parse_special)] * len(texts))

    def decode(self, ids: Sequence[int]) -> bytes:
        """Decode ids to bytes."""
        return self._tokenizer.decode(ids)

    def piece(self, id: int) -> str:
        """Return a token's stored string."""
        return self._tokenizer.piece(id)

    def token_bytes(self, id: int) -> bytes:
        """Return the bytes that a token represents."""
        return self._tokenizer.token_bytes(id)
