"""Describe a tokenizer for a report: its name, fingerprint, effective settings and what overrode them."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from tokverify.report.run import Side

if TYPE_CHECKING:
    from tokverify.engine.encoder import Encoder
    from tokverify.engine.family import Settings
    from tokverify.references import FoundReference
    from tokverify.tokenizer import Tokenizer


def side_of(tokenizer: Tokenizer) -> Side:
    """Describe one side as far as the tokenizer itself tells.

    Only an `Encoder` has settings and a fingerprint.
    """
    from tokverify.engine.encoder import Encoder

    if isinstance(tokenizer, Encoder):
        return _encoder_side(tokenizer)
    return Side(name=tokenizer.name, source=tokenizer.name)


def reference_side(found: FoundReference) -> Side:
    """Describe a reference, with where it came from."""
    return replace(
        side_of(found.tokenizer), source=found.source, reason=found.reason, caveat=found.caveat, sha256=found.sha256
    )


def _encoder_side(encoder: Encoder) -> Side:
    general_name = encoder.spec.general.get("name")
    return Side(
        name=encoder.name,
        source=encoder.name,
        aliases=(general_name,) if general_name else (),
        family=encoder.spec.model,
        fingerprint=encoder.fingerprint,
        settings=settings_shown(encoder.settings),
        overrides=tuple(map(str, encoder.settings.overrides)),
    )


def settings_shown(settings: Settings) -> dict[str, object]:
    """Keep what fits a line; arrays are told by their length."""
    told: dict[str, object] = {"algorithm": settings.algorithm}
    for field in fields(settings):
        value = getattr(settings, field.name)
        if isinstance(value, bool | int | str):
            told[field.name] = value
    return told | {
        "special_ids": dict(settings.special_ids),
        "eog_ids": sorted(settings.eog_ids),
        "added_tokens": len(settings.added_tokens),
    }
