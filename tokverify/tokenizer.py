"""The Tokenizer protocol: what two tokenizers must offer to be compared, and what a tokenizer may offer beyond it.

The capabilities are small protocols. Code checks for a capability and never for the name of a reference, so that
third-party references are treated like built-in ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from pathlib import Path

    from tokverify.errors import EncodeError, UnsupportedError
    from tokverify.spec import AddedToken, TokenizerSpec, TokenType

    HexBytes: TypeAlias = bytes
else:

    class HexBytes(bytes):
        """Bytes in a report; JSON shows them in hexadecimal."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token of an encoding."""

    id: int
    """Its place in the vocabulary."""
    piece: str
    """The stored string, verbatim."""
    token_bytes: HexBytes
    """The bytes that the token represents in decoded text."""


class Tokenizer(Protocol):
    """A tokenizer on either side of a comparison."""

    @property
    def name(self) -> str:
        """A short name for reports, such as `tokenizers` or `sentencepiece`."""

    @property
    def vocab_size(self) -> int:
        """One more than the highest id."""

    @property
    def special_ids(self) -> Mapping[str, int]:
        """The ids of special tokens by role (`bos`, `eos`, ...), as far as the tokenizer knows the roles."""

    @property
    def parses_special(self) -> bool:
        """Whether `parse_special=True` has an effect; False if the library never recognizes control tokens."""

    @property
    def adds_special(self) -> bool:
        """Whether `add_special=True` has an effect; False if the tokenizer does not know which tokens to add."""

    @property
    def decodes_as_llama_cpp(self) -> bool:
        """Whether `decode` is `llama_detokenize`, which cleans up spaces for some pre-tokenizers."""

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Encode a text to ids.

        Args:
            text: Any string without lone surrogates.
            add_special: Add BOS, EOS or SEP around the text if the tokenizer is configured to.
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
        """Return the bytes that a token represents inside a text, at any position."""


@runtime_checkable
class BatchEncoding(Protocol):
    """Encodes many texts in one call."""

    def encode_many(
        self, texts: Sequence[str], *, add_special: bool, parse_special: bool
    ) -> Sequence[list[int] | EncodeError | UnsupportedError]:
        """Encode texts; the result for a text that cannot be encoded is its error."""


@runtime_checkable
class BatchDecoding(Protocol):
    """Decodes many lists of ids in one call."""

    def decode_many(self, all_ids: Sequence[Sequence[int]]) -> list[bytes | EncodeError]:
        """Decode lists of ids; the result for a list that cannot be decoded is its error."""


@runtime_checkable
class LlamaCppDecoding(Protocol):
    """Can decode as llama.cpp does, besides its own way."""

    def decode_as_llama_cpp(self, ids: Sequence[int]) -> bytes:
        """Decode ids as `llama_detokenize` does.

        Raises:
            EncodeError: If an id is not in the vocabulary.
        """


@runtime_checkable
class DocumentDecoding(Protocol):
    """Can decode as an equivalent tokenizer.json does, besides its own way."""

    def decode_as_document(self, ids: Sequence[int]) -> bytes:
        """Decode ids as the decoder of the tokenizer.json does.

        Raises:
            EncodeError: If an id is not in the vocabulary.
        """


@runtime_checkable
class PieceListing(Protocol):
    """Holds all pieces, which is much faster than asking for one at a time."""

    @property
    def pieces(self) -> Sequence[str]:
        """The stored strings by id."""


@runtime_checkable
class BytesListing(Protocol):
    """Lists the bytes of all tokens, which takes less time than to ask for each."""

    def bytes_of_tokens(self) -> list[bytes]:
        """Return the bytes that each token represents, by id."""


@runtime_checkable
class TypeListing(Protocol):
    """Knows the types of its tokens: which are matched in a text before the model runs, and when."""

    def token_types(self) -> Sequence[TokenType]:
        """Return the effective types by id; UNDEFINED for an ordinary token of which nothing more is known.

        Raises:
            TokverifyError: If they cannot be determined.
        """


@runtime_checkable
class RoleListing(Protocol):
    """Knows whether a role has no token, while a role that others do not name in `special_ids` may have one."""

    def lists_role(self, role: str) -> bool:
        """Whether `special_ids` has the role if any token has it."""


@dataclass(frozen=True, slots=True)
class GenerationEnds:
    """The tokens that end a generation."""

    ids: frozenset[int]
    are_all: bool
    """Whether no other token ends a generation."""


@runtime_checkable
class EndListing(Protocol):
    """Knows tokens that end a generation."""

    def generation_ends(self) -> GenerationEnds:
        """Return the tokens that end a generation, as far as they are known."""


@runtime_checkable
class ControlListing(Protocol):
    """Lists its control tokens, so that one can tell whether `parse_special` affects a text."""

    @property
    def control_texts(self) -> Collection[str]:
        """The texts that are recognized as tokens only with `parse_special`; if `parses_special` is False, never."""


@runtime_checkable
class NameSupplying(Protocol):
    """Gives tokens names by default, which its file lacks, so that another name is no difference."""

    @property
    def supplied_names(self) -> Collection[int]:
        """The ids of these tokens; none if the file names all of its tokens."""


@runtime_checkable
class AddedTokenListing(Protocol):
    """Lists its added tokens."""

    @property
    def added_texts(self) -> Collection[str]:
        """The texts that can be recognized as tokens in a text before the model runs, or are reserved for tokens."""


@runtime_checkable
class OpenLeaving(Protocol):
    """Is made of files that leave something open, which is taken from the model that it is compared with."""

    @property
    def left_open(self) -> str:
        """What that is, such as `how texts are split`; empty if nothing."""


@runtime_checkable
class NormalizedListing(Protocol):
    """A tokenizer that looks for some added tokens in the normalized text, and knows for which."""

    def normalized_tokens(self) -> Mapping[int, str]:
        """Return the texts of these tokens, by id; none if nothing is normalized."""


@runtime_checkable
class MatchListing(Protocol):
    """Knows which of its tokens are matched in texts before the model runs, and how."""

    def added_tokens(self) -> Mapping[int, AddedToken]:
        """Return these tokens by id.

        Raises:
            TokverifyError: If they cannot be listed.
        """


@runtime_checkable
class Declaring(Protocol):
    """Exposes its tokenizer as what a GGUF file would declare."""

    def declared_spec(self) -> TokenizerSpec:
        """Return what a GGUF file with this tokenizer would declare.

        Raises:
            TokverifyError: If that is not known, or GGUF cannot express it.
        """


@runtime_checkable
class VocabularyHiding(Protocol):
    """May not list its tokens. Then `vocab_size` is 0, and pieces and bytes of ids are only good for display."""

    @property
    def hidden_vocabulary(self) -> str:
        """Why the tokens are not listed; empty if they are."""


@runtime_checkable
class SizeStating(Protocol):
    """States how many tokens it has, even if it does not list them."""

    @property
    def stated_size(self) -> int:
        """The number of tokens; it may leave out those that were added to a vocabulary."""


@runtime_checkable
class AlwaysParsing(Protocol):
    """May recognize control tokens in a text even without `parse_special`."""

    @property
    def always_parses_special(self) -> bool:
        """Whether a text is always encoded as with `parse_special=True`; other requests raise an UnsupportedError."""


@runtime_checkable
class FileReading(Protocol):
    """May have been read from a file, next to which there may be others about the same tokenizer."""

    @property
    def path(self) -> Path | None:
        """The file; None if there is none."""


@runtime_checkable
class DocumentHolding(Protocol):
    """Was made from a tokenizer.json."""

    def tokenizer_json(self) -> bytes:
        """Return the content of the tokenizer.json.

        Raises:
            TokverifyError: If it cannot be read, or the tokenizer was not made from one.
        """


@runtime_checkable
class PatternHolding(Protocol):
    """Splits a text by one regular expression, and takes a pre-token that is a piece whole, as tiktoken does."""

    @property
    def split_pattern(self) -> str:
        """The regular expression, of which each match is a pre-token."""


@dataclass(frozen=True, slots=True)
class StageMatch:
    """An added token that was found in a text."""

    id: int
    start: int
    """Byte offset into the text."""
    end: int


@dataclass(frozen=True, slots=True)
class StageStretch:
    """A stretch of text between added tokens, and what became of it."""

    start: int
    """Byte offset into the text."""
    end: int
    normalized: str
    pre_tokens: tuple[bytes, ...] | None
    """The bytes of each pre-token, after normalization; None if the library has no such stage."""


@dataclass(frozen=True, slots=True)
class TokenizerStages:
    """The stages that one text goes through."""

    matches: tuple[StageMatch, ...] | None
    """The added tokens found; None if the library does not show them, and then the only stretch is the whole text."""
    stretches: tuple[StageStretch, ...] | None
    """None if the library does not show them."""
    hidden: str = ""
    """Why something is None."""


@runtime_checkable
class Staged(Protocol):
    """Exposes the stages that a text goes through."""

    def stages(self, text: str, *, parse_special: bool) -> TokenizerStages:
        """Return the stages that `text` goes through.

        Raises:
            EncodeError: If the stages of this text cannot be shown.
        """


def adapted_decoding_of(tokenizer: Tokenizer, other: Tokenizer) -> Callable[[Sequence[int]], bytes] | None:
    """Return how `tokenizer` decodes in the same way as `other`, besides its own way; None if it has no other."""
    if other.decodes_as_llama_cpp and isinstance(tokenizer, LlamaCppDecoding):
        return tokenizer.decode_as_llama_cpp
    if isinstance(other, DocumentHolding) and isinstance(tokenizer, DocumentDecoding):
        return tokenizer.decode_as_document
    return None


def tokens_of(tokenizer: Tokenizer, ids: Sequence[int]) -> list[Token]:
    """Look up the pieces and bytes of `ids`."""
    tokens = {id: Token(id, tokenizer.piece(id), tokenizer.token_bytes(id)) for id in set(ids)}
    return [tokens[id] for id in ids]


def join_bytes(tokens: Iterable[Token]) -> bytes:
    """Return the bytes that tokens represent together."""
    return b"".join([token.token_bytes for token in tokens])


def is_placeholder(token: Token) -> bool:
    """Return whether only the id of a token is known: it has no bytes, and no piece or its id as `<5>`."""
    return not token.token_bytes and token.piece in {"", f"<{token.id}>"}


def why_hidden(*tokenizers: Tokenizer) -> str:
    """Return why one of these tokenizers does not list its tokens; empty if all of them do."""
    hiding = (tokenizer for tokenizer in tokenizers if isinstance(tokenizer, VocabularyHiding))
    return next(filter(None, (tokenizer.hidden_vocabulary for tokenizer in hiding)), "")


def lists_no_special_tokens(tokenizer: Tokenizer) -> bool:
    """Whether a tokenizer lists its special tokens, and has none, like a file of ranks without a configuration."""
    return isinstance(tokenizer, ControlListing) and not tokenizer.parses_special and not tokenizer.control_texts


def tokens_for_display(tokenizer: Tokenizer, ids: Sequence[int]) -> list[Token]:
    """Look up the tokens of `ids` for display; one outside the vocabulary has an empty piece and no bytes."""
    if why_hidden(tokenizer):
        return tokens_of(tokenizer, ids)
    return _tokens_in_vocabulary(tokenizer, ids)


def _tokens_in_vocabulary(tokenizer: Tokenizer, ids: Sequence[int]) -> list[Token]:
    known = range(tokenizer.vocab_size)
    tokens = {token.id: token for token in tokens_of(tokenizer, [id for id in set(ids) if id in known])}
    return [tokens[id] if id in tokens else Token(id, "", b"") for id in ids]


def pairs_for_display(actual: Tokenizer, expected: Tokenizer, ids: Iterable[int]) -> dict[int, tuple[Token, Token]]:
    """Look up each id on both sides for display, except on a side that does not list its tokens; ascending by id."""
    distinct = sorted(set(ids))
    sides = (_tokens_in_vocabulary(tokenizer, distinct) for tokenizer in (actual, expected))
    return dict(zip(distinct, zip(*sides, strict=True), strict=True))


def path_of(tokenizer: Tokenizer | None) -> Path | None:
    """Return the file that a tokenizer was read from; None if that is unknown."""
    return tokenizer.path if isinstance(tokenizer, FileReading) else None


def pieces_of(tokenizer: Tokenizer) -> Sequence[str]:
    """Return every piece by id."""
    if isinstance(tokenizer, PieceListing):
        return tokenizer.pieces
    return list(map(tokenizer.piece, range(tokenizer.vocab_size)))
