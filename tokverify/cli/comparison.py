"""Compare a GGUF file with a reference, and note in the report where both came from."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tokverify.cases import Case
    from tokverify.encoder import Encoder
    from tokverify.references import FoundReference
    from tokverify.report import Report

# Metadata alone is far smaller; hashing tens of gigabytes of tensors would take longer than everything else.
_MAX_HASHED_BYTES = 256 * 2**20


def verify_model(
    model: Path,
    location: str | None,
    cases: Sequence[Case],
    *,
    fail_fast: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Verify a GGUF file against the reference at `location`, or against the one that is found for it."""
    from tokverify.load import load_gguf
    from tokverify.side import side_of
    from tokverify.verify import verify

    encoder = load_gguf(model)
    found = _reference(model, encoder, location)
    actual = replace(side_of(encoder), source=str(model), sha256=_sha256(model))
    expected = replace(
        side_of(found.tokenizer),
        source=found.source,
        reason=found.reason,
        caveat=found.caveat,
        sha256=found.sha256,
    )
    report = verify(
        encoder,
        found.tokenizer,
        cases,
        sides=(actual, expected),
        fail_fast=fail_fast,
        on_progress=on_progress,
    )
    return replace(report, versions={**report.versions, "python": platform.python_version(), **found.versions})


def _reference(model: Path, encoder: Encoder, location: str | None) -> FoundReference:
    from tokverify.references import open_reference
    from tokverify.references.discovery import find_reference

    if location is None:
        return find_reference(model, encoder.spec, encoder.settings)
    return open_reference(location, spec=encoder.spec, settings=encoder.settings, model=model)


def _sha256(path: Path) -> str | None:
    if path.stat().st_size > _MAX_HASHED_BYTES:
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
