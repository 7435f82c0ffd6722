"""Explanation of decoding: how ids become a text, as data."""

from __future__ import annotations

from dataclasses import dataclass

from tokverify.report.difference import Difference
from tokverify.report.explain import Span
from tokverify.tokenizer import HexBytes, Token


@dataclass(frozen=True, slots=True)
class TokenMerge:
    """One merge that builds a token: its bytes are those of two others, one after the other."""

    id: int
    token_bytes: HexBytes
    left: Token
    right: Token


@dataclass(frozen=True, slots=True)
class DecodedToken:
    """One id, and what it adds to the text."""

    token: Token
    """The id, its piece, and the bytes that the piece represents."""
    type: str
    """Its effective type, such as `CONTROL`."""
    rule: str
    """How the bytes follow from the piece."""
    added: HexBytes
    """The bytes that it adds to the text."""
    note: str
    """Why these are not the bytes that it represents; empty if they are."""
    merges: tuple[TokenMerge, ...]
    """The merges that build it, the last one first; empty for tokens that no merge builds."""


@dataclass(frozen=True, slots=True)
class DecodingExplanation:
    """How ids become a text."""

    name: str
    """The name of the model."""
    algorithm: str
    ids: tuple[int, ...]
    """The ids that were decoded."""
    stopped_at: int | None
    """The index of the end-of-generation token where decoding stopped; None if it did not stop."""
    tokens: tuple[DecodedToken, ...]
    decoded: HexBytes
    """The text; its bytes need not be valid UTF-8."""
    cleaned_up: HexBytes | None
    """The text as `llama_detokenize` returns it, if it removes further spaces from it; None if not."""


@dataclass(frozen=True, slots=True)
class ExposedMatch:
    """An added token that was found in the text."""

    span: Span
    id: int
    piece: str


@dataclass(frozen=True, slots=True)
class ExposedStretch:
    """A stretch of text between added tokens."""

    span: Span
    normalized: str
    pre_tokens: tuple[str, ...] | None
    """None if the tokenizer has no such stage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExposedExplanation:
    """How one text becomes tokens, as far as a library, a server or a program shows it."""

    text: str
    name: str
    source: str
    """Where the tokenizer comes from."""
    add_special: bool
    parse_special: bool
    matches: tuple[ExposedMatch, ...] | None
    """None if they are not shown."""
    stretches: tuple[ExposedStretch, ...] | None
    """None if they are not shown."""
    hidden: str
    """Why something is not shown."""
    tokens: tuple[Token, ...]
    reference: str | None
    """The name of the tokenizer that was compared; None if there was none."""
    difference: Difference | None
    """How its tokens differ; None if the ids are the same, or there is no reference."""
