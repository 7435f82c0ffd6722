"""The Tokenizer protocol: what any two tokenizers must offer to be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    HexBytes: TypeAlias = bytes
else:

    class HexBytes(bytes):
        """Bytes in a report; JSON shows them in hexadecimal."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token of an encoding: its id, its stored string, and the bytes it stands for once decoded."""

    id: int
    piece: str
    token_bytes: HexBytes


class Tokenizer(Protocol):
    """A tokenizer on either side of a comparison.

    `special_ids` maps `bos`, `eos`, ... to ids as far as the tokenizer tells. `parses_special` is False where
    the library can never recognize control tokens inside a text, `adds_special` where nothing tells it which
    tokens go around one; the option is then ignored. `decodes_as_llama_cpp` is True where `decode` is llama.cpp's own
    `llama_detokenize`, to which an `Encoder` compares the same of its own.
    """

    @property
    def name(self) -> str:
        """A short name for reports, such as `tokenizers` or `sentencepiece`."""

    @property
    def vocab_size(self) -> int:
        """One more than the highest id."""

    @property
    def special_ids(self) -> Mapping[str, int]:
        """The ids of the special tokens this tokenizer knows the roles of."""

    @property
    def parses_special(self) -> bool:
        """Whether `parse_special=True` can be honored."""

    @property
    def adds_special(self) -> bool:
        """Whether `add_special=True` can be honored."""

    @property
    def decodes_as_llama_cpp(self) -> bool:
        """Whether `decode` cleans up spaces, as `llama_detokenize` does for some pre-tokenizers."""

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Encode a text to token ids.

        Args:
            text: Any string without lone surrogates.
            add_special: Add BOS, EOS or SEP around the text where the tokenizer is set to.
            parse_special: Recognize control tokens inside the text.

        Raises:
            EncodeError: If this text cannot be encoded.
        """

    def decode(self, ids: Sequence[int]) -> bytes:
        """Decode ids to bytes, special tokens included; the bytes need not be valid UTF-8.

        Raises:
            EncodeError: If an id is not in the vocabulary.
        """

    def piece(self, id: int) -> str:
        """Return a token's stored string, verbatim; an empty string for an id without a token."""

    def token_bytes(self, id: int) -> bytes:
        """Return the bytes a token stands for inside a text, wherever it stands."""


def decoding_of(tokenizer: Tokenizer, other: Tokenizer) -> Callable[[Sequence[int]], bytes]:
    """Return how `tokenizer` decodes when compared with `other`: as llama.cpp does, if that one does and it can."""
    from tokverify.engine.encoder import Encoder

    if other.decodes_as_llama_cpp and isinstance(tokenizer, Encoder):
        return partial(tokenizer.decode, clean_up=True)
    return tokenizer.decode


def tokens_of(tokenizer: Tokenizer, ids: Sequence[int]) -> list[Token]:
    """Look up the pieces and bytes of `ids`."""
    return [Token(id, tokenizer.piece(id), tokenizer.token_bytes(id)) for id in ids]


def shown_tokens(tokenizer: Tokenizer, ids: Sequence[int]) -> list[Token]:
    """Look up the tokens of `ids` to show them; one outside the vocabulary has no piece and no bytes."""
    known = range(tokenizer.vocab_size)
    return [tokens_of(tokenizer, [id])[0] if id in known else Token(id, "", b"") for id in ids]


def shown_pairs(actual: Tokenizer, expected: Tokenizer, ids: Iterable[int]) -> dict[int, tuple[Token, Token]]:
    """Look up what each id is on either side, to show it; the lowest id comes first."""
    distinct = sorted(set(ids))
    sides = (shown_tokens(tokenizer, distinct) for tokenizer in (actual, expected))
    return dict(zip(distinct, zip(*sides, strict=True), strict=True))


def pieces_of(tokenizer: Tokenizer) -> Sequence[str]:
    """Return every piece by id, as the tokenizer holds them in `pieces` if it does, which is much faster."""
    held: Sequence[str] | None = getattr(tokenizer, "pieces", None)
    return list(map(tokenizer.piece, range(tokenizer.vocab_size))) if held is None else held
