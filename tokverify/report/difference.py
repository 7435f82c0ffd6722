"""Difference: where two tokenizations of one text diverge, and how they align."""

from __future__ import annotations

from dataclasses import dataclass

from tokverify.report.fields import Count
from tokverify.tokenizer import HexBytes, Token

NO_TOKEN = -1
"""The id of an expected piece that no token of the vocabulary has."""


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of both tokenizations: either the same tokens, or tokens of one that replace those of the other."""

    equal: bool
    """Whether the ids on both sides are the same."""
    actual: tuple[Token, ...]
    """The tokens of the tokenizer under test."""
    expected: tuple[Token, ...]
    """Those of the reference; equal to the others in an equal stretch."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first place where two tokenizations differ."""

    token_index: Count
    """How many tokens before this place are equal."""
    byte_offset: Count
    """How many bytes of the decoded text precede this place, an added space prefix included."""
    actual: Token | None
    """The first differing token; None where this side has ended."""
    expected: Token | None
    """The first differing token; None where this side has ended."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A few characters around the first divergence, as each side decodes them; as the other does if one has only ids.

    Each string starts at a whole character; a byte that is not UTF-8 is a lone surrogate (`surrogateescape`).
    """

    before: str = ""
    """The characters that precede the divergence on both sides."""
    actual: str = ""
    """The characters that follow it on the actual side."""
    expected: str = ""
    """The characters that follow it on the expected side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Two aligned tokenizations."""

    first: Divergence
    """Where they diverge first."""
    excerpt: Excerpt = Excerpt()
    """The text around that place."""
    blocks: tuple[Block, ...]
    """All tokens of both, in order and without gaps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeDifference:
    """What the two sides make of the same ids, where that differs."""

    offset: Count
    """How many bytes are equal at the start."""
    actual_text: str
    """The decoded text, with U+FFFD for what is not UTF-8."""
    expected_text: str
    """The text that the reference decodes."""
    actual: HexBytes
    """The decoded bytes."""
    expected: HexBytes
    """The bytes that the reference decodes."""
