"""Side: one of the two tokenizers that a report is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tokverify.report.fields import Digest


@dataclass(frozen=True, slots=True)
class Side:
    """One side of the comparison."""

    name: str
    """What messages call it."""
    source: str
    """Where it came from: a path, `rebuilt` or a hub id."""
    reason: str = ""
    """Why this one was chosen."""
    caveat: str = ""
    """What agreement with it cannot prove."""
    aliases: tuple[str, ...] = ()
    """Other names by which a case's `expect` may call it."""
    family: str | None = None
    """Its `tokenizer.ggml.model`, by which a case's `expect` may call all models of a kind."""
    sha256: Digest | None = None
    """The hash of the file it was read from."""
    fingerprint: Digest | None = None
    """The hash of everything that determines the ids of a text."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """The effective settings, by name."""
    overrides: tuple[str, ...] = ()
    """One sentence for each setting of llama.cpp that the file declares differently or not at all."""
