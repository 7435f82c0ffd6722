"""Define the tokenizers to measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tokverify.engine.attribute import Attribute
from tokverify.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokverify.engine.family import Settings


@dataclass(frozen=True, slots=True)
class StatsSubject:
    """A tokenizer to measure."""

    name: str
    source: str
    tokenizer: Tokenizer

    attributes: Sequence[int] | None = None
    """The attributes of each token; None if they are not known."""

    unknown: frozenset[int] = frozenset()
    """Ids that represent text for which there is no token."""

    fingerprint: str | None = None
    """Set for an encoder of ours."""

    sha256: str | None = None
    """The digest of a reference's file."""

    versions: Mapping[str, str] = field(default_factory=dict)
    """The versions of the libraries involved."""


def make_subject(name: str, source: str, tokenizer: Tokenizer, declared: Settings | None) -> StatsSubject:
    """Describe a tokenizer; `declared` are its effective settings, or None if they are unknown."""
    if declared is None or len(declared.attributes) != tokenizer.vocab_size:
        unknown = tokenizer.special_ids.get("unk")
        return StatsSubject(name, source, tokenizer, unknown=frozenset() if unknown is None else frozenset([unknown]))
    unknown_ids = {id for id, attribute in enumerate(declared.attributes) if attribute & Attribute.UNKNOWN.value}
    if "unk" in declared.special_ids:
        unknown_ids.add(declared.special_ids["unk"])
    return StatsSubject(name, source, tokenizer, declared.attributes, frozenset(unknown_ids))
