"""Hide what a tokenizer declares, so that only its ids and the bytes and pieces of its tokens remain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tokverify.errors import EncodeError, UnsupportedError
from tokverify.tokenizer import BatchEncoding, Tokenizer, why_hidden


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

    def encode_many(
        self, texts: Sequence[str], *, add_special: bool, parse_special: bool
    ) -> Sequence[list[int] | EncodeError | UnsupportedError]:
        """Encode texts, in one call if the tokenizer can."""
        tokenizer = self._tokenizer
        if isinstance(tokenizer, BatchEncoding):
            return tokenizer.encode_many(texts, add_special=add_special, parse_special=parse_special)
        return [self._try(text, add_special=add_special, parse_special=parse_special) for text in texts]

    def _try(self, text: str, *, add_special: bool, parse_special: bool) -> list[int] | EncodeError | UnsupportedError:
        try:
            return self.encode(text, add_special=add_special, parse_special=parse_special)
        except (EncodeError, UnsupportedError) as error:
            return error

    def decode(self, ids: Sequence[int]) -> bytes:
        """Decode ids to bytes."""
        return self._tokenizer.decode(ids)

    def piece(self, id: int) -> str:
        """Return a token's stored string."""
        return self._tokenizer.piece(id)

    def token_bytes(self, id: int) -> bytes:
        """Return the bytes that a token represents."""
        return self._tokenizer.token_bytes(id)
