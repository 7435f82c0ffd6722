"""Changes that make the same ids decode to the same bytes: the types and texts of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.attribute import Attribute
from tokverify.decoder import VERBATIM, token_bytes
from tokverify.diagnosis.entry import Entry, change_to, tokens_named, typing
from tokverify.diagnosis.spelling import attribute_of, spelled
from tokverify.spec import TokenType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokverify.diagnosis.change import Change
    from tokverify.diagnosis.evidence import DecodingEvidence
    from tokverify.settings import Settings

_TYPES = (TokenType.BYTE, TokenType.NORMAL)
"""The types to try; others would make ordinary tokens special, or hide them."""

_NAMED = (Attribute.CONTROL | Attribute.USER_DEFINED).value


def types(evidence: DecodingEvidence) -> Iterator[Change]:
    """Give tokens the type with which they stand for what they do in the reference, and all alike with them."""
    settings, shown = evidence.encoder.settings, evidence.facts.token_bytes
    wanted = {
        (settings.attributes[id], type)
        for id in evidence.differing
        if not settings.attributes[id] & VERBATIM
        and (type := _type_for(shown[id], settings.pieces[id], settings)) is not None
    }
    for attribute, type in sorted(wanted):
        entries = {
            id: Entry(None, type)
            for id, piece in enumerate(settings.pieces[: len(shown)])
            if settings.attributes[id] == attribute
            and evidence.encoder.token_bytes(id) != shown[id]
            and _type_for(shown[id], piece, settings) is type
        }
        yield typing(evidence.spec, entries, type, cost=3)


def _type_for(wanted: bytes, piece: str, settings: Settings) -> TokenType | None:
    fitting = (type for type in _TYPES if token_bytes(piece, attribute_of(type), settings) == wanted)
    return next(fitting, None)


def texts(evidence: DecodingEvidence) -> Iterator[Change]:
    """Write special tokens as the reference shows them; unknown ones many show in a way of their own, or not at all."""
    settings, shown = evidence.encoder.settings, evidence.facts.token_bytes
    entries = {
        id: Entry(text)
        for id in evidence.differing
        if settings.attributes[id] & _NAMED
        and shown[id]
        and (text := spelled(shown[id], settings.attributes[id], settings)) is not None
    }
    if entries:
        sentence = f"writing {tokens_named(entries, evidence.spec)} for what the reference shows"
        yield change_to(entries, "tokens", sentence, 3.2)
