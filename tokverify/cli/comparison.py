"""Compare a GGUF file with a reference, and note in the report where both came from."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tokverify.cases import Case
    from tokverify.diagnosis import Diagnosis
    from tokverify.encoder import Encoder
    from tokverify.references import FoundReference
    from tokverify.report import Report, Side
    from tokverify.tokenizer import Tokenizer

# Metadata alone is far smaller; hashing tens of gigabytes of tensors would take longer than everything else.
_MAX_HASHED_BYTES = 256 * 2**20


def verify_model(  # noqa: PLR0913 - the optional ones are keywords
    model: Path,
    location: str | None,
    cases: Sequence[Case],
    *,
    fail_fast: bool = False,
    diagnose: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Verify a GGUF file against the reference at `location`, or against the one that is found for it.

    With `diagnose` the report of a failing run tells what may be the reason.
    """
    return verify_opened(
        open_comparison(model, location), cases, fail_fast=fail_fast, diagnose=diagnose, on_progress=on_progress
    )


def verify_opened(
    opened: Comparison,
    cases: Sequence[Case],
    *,
    fail_fast: bool = False,
    diagnose: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Verify two tokenizers that are open already; see `verify_model`."""
    from tokverify.verify import verify

    report = verify(
        opened.actual,
        opened.expected,
        cases,
        sides=opened.sides,
        fail_fast=fail_fast,
        on_progress=on_progress,
    )
    report = replace(report, versions={**report.versions, **opened.versions})
    return replace(report, diagnosis=_diagnosis(opened, report)) if diagnose and report.exit_code == 1 else report


def _diagnosis(opened: Comparison, report: Report) -> Diagnosis | None:
    from tokverify.diagnosis import diagnose, facts_of

    return diagnose(opened.actual.spec, facts_of(opened.expected, opened.path), report.results, encoder=opened.actual)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two tokenizers to compare, how a report describes them, and the versions of what is involved.

    `path` is the file that the reference was read from, where it is one.
    """

    actual: Encoder
    expected: Tokenizer
    sides: tuple[Side, Side]
    versions: Mapping[str, str]
    path: Path | None = None


def open_comparison(model: Path, location: str | None) -> Comparison:
    """Open a GGUF file and its reference, and note where both came from."""
    from tokverify.side import side_of

    encoder, found = _open(model, location)
    actual = replace(side_of(encoder), source=str(model), sha256=_sha256(model))
    expected = replace(
        side_of(found.tokenizer),
        source=found.source,
        reason=found.reason,
        caveat=found.caveat,
        sha256=found.sha256,
    )
    versions = {"python": platform.python_version(), **found.versions}
    return Comparison(encoder, found.tokenizer, (actual, expected), versions, found.path)


def open_tokenizers(model: Path, location: str | None) -> tuple[Encoder, Tokenizer]:
    """Open a GGUF file and its reference, and nothing more."""
    encoder, found = _open(model, location)
    return encoder, found.tokenizer


def _open(model: Path, location: str | None) -> tuple[Encoder, FoundReference]:
    from tokverify.load import load_model
    from tokverify.references import open_reference
    from tokverify.references.discovery import find_reference

    encoder = load_model(model)
    if location is None:
        return encoder, find_reference(model, encoder.spec, encoder.settings)
    return encoder, open_reference(location, spec=encoder.spec, settings=encoder.settings, model=model)


def _sha256(path: Path) -> str | None:
    if path.stat().st_size > _MAX_HASHED_BYTES:
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
