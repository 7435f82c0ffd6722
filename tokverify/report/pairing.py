"""Pairing: whether two models can be used together, as data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Use(StrEnum):
    """What two models are used together for, and by which program, if programs differ."""

    SPECULATIVE = "speculative"
    """llama.cpp drafts tokens with B and verifies them with A."""
    SPECULATIVE_VLLM = "speculative-vllm"
    SPECULATIVE_SGLANG = "speculative-sglang"
    ADAPTER = "adapter"
    """An adapter that was trained on A is applied to B."""
    EMBEDDING = "embedding"
    """Texts are cut into chunks by the tokens of A, and read by B: an embedder and its reranker."""
    GRAMMAR = "grammar"
    """A grammar engine that was built from the vocabulary of B restricts what A generates."""


class Fit(StrEnum):
    """How well two models fit each other."""

    USABLE = "usable"
    LIMITED = "usable up to an id"
    """Higher ids exist in only one of the two."""
    LOSSY = "lossy"
    """It works, but worse than with a model of the same tokenizer."""
    UNUSABLE = "unusable"
    """The program refuses the pair, or the result is wrong."""
    UNKNOWN = "unknown"
    """It could not be compared."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """Whether two models can be used together for one purpose."""

    use: Use
    fit: Fit
    reason: str


def pairing_exit_code(pairings: Iterable[Pairing]) -> int:
    """Return 1 if a pair is unusable or lossy, 2 if one could not be compared, and 0 otherwise."""
    fits = {pairing.fit for pairing in pairings}
    if fits & {Fit.UNUSABLE, Fit.LOSSY}:
        return 1
    return 2 if Fit.UNKNOWN in fits else 0
