"""Define what an encoder needs to know about a tokenizer, independently of file formats.

A spec contains what a file *declares*; `tokverify.engine.settings` determines what llama.cpp uses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import compress, count
from typing import overload

MAX_TOKENS = 1 << 20
"""The limit for the number of tokens of any tokenizer; the largest known vocabulary has 901,629."""

MAX_GAP = 1 << 20
"""The limit for the number of ids without a token."""

DEFAULT_TEMPLATE = "default"
"""The name of the chat template that a file does not name."""


class TokenType(IntEnum):
    """The type of a token in a GGUF file (`tokenizer.ggml.token_type`)."""

    UNDEFINED = 0
    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6

    @classmethod
    def _missing_(cls, value: object) -> TokenType:
        """Convert an unknown number as llama.cpp does."""
        del value
        return cls.UNDEFINED


class _ByValue(dict[int, TokenType]):
    def __missing__(self, value: int) -> TokenType:
        return TokenType(value)


ADDED_TYPES = frozenset({TokenType.CONTROL, TokenType.USER_DEFINED})
"""The types of tokens that are matched in a text before the model runs."""
SPECIAL_TYPES = frozenset({TokenType.CONTROL, TokenType.UNKNOWN})
"""The types of tokens that llama.cpp parses, and shows, only on request."""
MATCHED_TYPES = ADDED_TYPES | SPECIAL_TYPES
_TYPES = tuple(TokenType)
_BY_VALUE = _ByValue(enumerate(_TYPES))


def to_types(values: Iterable[int]) -> list[TokenType]:
    """Return the types with these numbers, in a fifth of the time that calling `TokenType` for each takes."""
    return list(map(_BY_VALUE.__getitem__, values))


_FEW = 8
"""Up to this fraction of the types is found one by one."""


class TokenTypes(Sequence[TokenType]):
    """Types of tokens by id, which take one byte each."""

    def __init__(self, values: bytes) -> None:
        """Take the values of `TokenType` by id."""
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[TokenType]:
        return map(_TYPES.__getitem__, self.values)

    def __contains__(self, type: object) -> bool:
        return isinstance(type, TokenType) and type in self.values

    @overload
    def __getitem__(self, index: int) -> TokenType: ...

    @overload
    def __getitem__(self, index: slice) -> TokenTypes: ...

    def __getitem__(self, index: int | slice) -> TokenType | TokenTypes:
        return TokenTypes(self.values[index]) if isinstance(index, slice) else _TYPES[self.values[index]]

    def __eq__(self, other: object) -> bool:
        return [*self] == [*other] if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


def ids_of_type(types: Iterable[int] | None, *wanted: TokenType) -> list[int]:
    """Return the ids with one of these types, of many in a tenth of the time that comparing each with members takes."""
    codes = bytes(type.value for type in wanted)
    if isinstance(types, TokenTypes):
        if sum(map(types.values.count, codes)) < len(types) // _FEW:
            return find_bytes(types.values, codes)
        types = types.values
    return list(compress(count(), map(frozenset(codes).__contains__, types or ())))


def find_bytes(data: bytes | bytearray, wanted: Iterable[int]) -> list[int]:
    """Return in ascending order the places of bytes; fast if most bytes are others."""
    # subtle: a search for one byte takes a tenth of the time of one for any of several.
    found = (re.finditer(re.escape(bytes([byte])), data) for byte in {*wanted})
    return sorted(match.start() for matches in found for match in matches)


@dataclass(frozen=True, slots=True)
class AddedToken:
    """A token matched in the text before the model runs."""

    id: int
    text: str
    special: bool
    """Whether the token is matched only if special tokens are parsed."""
    lstrip: bool = False
    """Whether a match includes the whitespace before it."""
    rstrip: bool = False
    """Whether a match includes the whitespace after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerSpec:
    """A tokenizer as declared by a file; None means that the file does not declare the value.

    The index into `tokens`, `scores` and `types` is the token id. Tokens and merges are the stored strings, verbatim;
    bytes that are not UTF-8 are lone surrogates (`surrogateescape`).
    """

    model: str
    """`tokenizer.ggml.model`."""
    tokens: Sequence[str]
    """The stored strings by id."""
    pre: str | None = None
    """`tokenizer.ggml.pre`, the name of the pre-tokenizer."""
    scores: Sequence[float] | None = None
    """The scores by id."""
    types: Sequence[int] | None = None
    """The values of `TokenType` by id."""
    merges: Sequence[str] | None = None
    """In order of rank; each is a pair of pieces joined by a space."""
    special_ids: Mapping[str, int] = field(default_factory=dict)
    """Ids by role: `bos`, `eos`, `eot`, `eom`, `unk`, `sep`, `pad`, `mask` and `fim_*`; as declared."""
    add_bos: bool | None = None
    add_eos: bool | None = None
    add_sep: bool | None = None
    add_space_prefix: bool | None = None
    remove_extra_whitespaces: bool | None = None
    lowercase: bool | None = None
    strip_accents: bool | None = None
    nfc: bool | None = None
    """Whether texts are normalized to form C."""
    suppressed: Sequence[int] | None = None
    """The ids that are never generated (`suppress_tokens`), as declared; llama.cpp drops those out of range."""
    charsmap: bytes | None = None
    """sentencepiece's precompiled normalizer."""
    chat_template: str | None = None
    named_chat_templates: Mapping[str, str] = field(default_factory=dict)
    """Chat templates other than the default one."""
    huggingface_json: str | None = None
    """The tokenizer.json that the file contains."""
    general: Mapping[str, str] = field(default_factory=dict)
    """The `general.*` strings of the file, by the rest of their keys."""
    unread_keys: tuple[str, ...] = ()
    """The keys of the tokenizer that no known build of llama.cpp reads."""
    mistyped_keys: Mapping[str, str] = field(default_factory=dict)
    """The keys that llama.cpp reads, and whose values have other types than it requires -> these types."""
    embedding_rows: int | None = None
    """The number of tokens for which the model of the file has embeddings; None if there is no model."""
    left_out: tuple[str, ...] = ()
    """What a file of another format has that GGUF cannot express: one sentence for each part that is left out."""

    @property
    def templates(self) -> dict[str, str]:
        """The chat templates by name; the unnamed one is called `default`, even if there is another of this name."""
        unnamed = {} if self.chat_template is None else {DEFAULT_TEMPLATE: self.chat_template}
        return {**unnamed, **self.named_chat_templates, **unnamed}

    @property
    def valid_special_ids(self) -> dict[str, int]:
        """The special ids without those out of range, which llama.cpp ignores."""
        return {role: id for role, id in self.special_ids.items() if id < len(self.tokens)}


def piece_made_by(merge: str) -> str:
    """Return what a merge makes of its two pieces.

    subtle: the first one may begin with a space; llama.cpp looks for the space between them after the first byte.
    """
    return merge[:1] + merge[1:].replace(" ", "", 1)


def split_merge(merge: str) -> tuple[str, str]:
    """Split a merge as llama.cpp does: at the first space that is not its first character."""
    at = merge.find(" ", 1)
    return (merge[:at], merge[at + 1 :]) if at > 0 else (merge, "")


def split_merges(merges: Iterable[str]) -> list[tuple[str, str]]:
    """Split each merge; to call the function above half a million times takes several times as long."""
    return [split_merge(merge) if merge[:1] == " " else merge.partition(" ")[::2] for merge in merges]


def pieces_made_by(merges: Iterable[str]) -> list[str]:
    """Return what each merge makes; to call the function above half a million times takes four times as long."""
    return [piece_made_by(merge) if merge[:1] == " " else merge.replace(" ", "", 1) for merge in merges]
