"""The stages of a reference, as far as its library shows them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReferenceMatch:
    """An added token that the reference found, from the byte `start` to `end` of the text."""

    id: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ReferenceStretch:
    """What lies between added tokens, from the byte `start` to `end`, and what the reference made of it.

    `pre_tokens` are the bytes of each, as normalized; None where the library has no such stage.
    """

    start: int
    end: int
    normalized: str
    pre_tokens: tuple[bytes, ...] | None


@dataclass(frozen=True, slots=True)
class ReferenceStages:
    """The way of a text through a reference; what is None the library does not show, and `hidden` says why.

    Without `matches` the one stretch is the whole text.
    """

    matches: tuple[ReferenceMatch, ...] | None
    stretches: tuple[ReferenceStretch, ...] | None
    hidden: str = ""
