"""Describe a tokenizer in a report: its name, fingerprint, effective settings and overrides."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from tokverify.report.side import Side
from tokverify.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokverify.engine.encoder import Encoder
    from tokverify.engine.family import Settings
    from tokverify.references import FoundReference


def side_of(tokenizer: Tokenizer) -> Side:
    """Describe one side as far as the tokenizer shows.

    Only an `Encoder` has settings and a fingerprint.
    """
    from tokverify.engine.encoder import Encoder

    if isinstance(tokenizer, Encoder):
        return _encoder_side(tokenizer)
    return Side(name=tokenizer.name, source=tokenizer.name)


def reference_side(found: FoundReference) -> Side:
    """Describe a reference and where it came from."""
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
        settings=describe_settings(encoder.settings),
        overrides=tuple(map(str, encoder.settings.overrides)),
    )


def describe_settings(settings: Settings) -> dict[str, object]:
    """Return the settings that fit on a line each; large arrays are described by their length."""
    shown: dict[str, object] = {"algorithm": settings.algorithm}
    for field in fields(settings):
        value = getattr(settings, field.name)
        if isinstance(value, bool | int | str):
            shown[field.name] = value
    return shown | {
        "special_ids": dict(settings.special_ids),
        "eog_ids": sorted(settings.eog_ids),
        "added_tokens": len(settings.added_tokens),
    }
