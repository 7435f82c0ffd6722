"""What a tokenizer that is not a file exposes about how one text becomes tokens, as data.

As in `explain`, a byte that is not UTF-8 is a lone surrogate, and spans are byte offsets (start, end).
"""

from __future__ import annotations

from dataclasses import dataclass

from tokverify.report.difference import Difference
from tokverify.report.explain import Span
from tokverify.tokenizer import Token


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
