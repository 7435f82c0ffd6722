"""A reference that returns only ids and the bytes of tokens, like a llama-server."""

from collections.abc import Sequence

from tokverify.errors import EncodeError
from tokverify.tokenizer import Tokenizer


class Bare:
    """Hide everything else about a tokenizer: stored strings, special ids, types, merges, scores, settings, file."""

    name = "bare"
    decodes_as_llama_cpp = False

    def __init__(self, whole: Tokenizer) -> None:
        self._whole = whole
        self.vocab_size = whole.vocab_size
        self.parses_special = whole.parses_special
        self.adds_special = whole.adds_special
        self.special_ids: dict[str, int] = {}

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        return self._whole.encode(text, add_special=add_special, parse_special=parse_special)

    def decode(self, ids: Sequence[int]) -> bytes:
        return self._whole.decode(ids)

    def piece(self, id: int) -> str:
        return self.token_bytes(id).decode("utf-8", "surrogateescape") or f"<{id}>"

    def token_bytes(self, id: int) -> bytes:
        return self._whole.token_bytes(id)


class IdsOnly(Bare):
    """Hide the bytes of tokens, too, like a program that only encodes."""

    name = "ids-only"
    hidden_vocabulary = "ids-only does not list its tokens"

    def __init__(self, whole: Tokenizer) -> None:
        super().__init__(whole)
        self.vocab_size = 0

    def decode(self, ids: Sequence[int]) -> bytes:
        raise EncodeError("ids-only does not decode")

    def token_bytes(self, id: int) -> bytes:
        return b""

    def piece(self, id: int) -> str:
        return f"<{id}>"
