"""Compare a GGUF file with a reference, and note in the report where both came from."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokverify.cases.case import Case
    from tokverify.engine.encoder import Encoder
    from tokverify.references import FoundReference
    from tokverify.report.run import Report, Side
    from tokverify.tokenizer import Tokenizer
    from tokverify.verify.baseline import Baseline

# Metadata alone is far smaller; hashing tens of gigabytes of tensors would take longer than everything else.
_MAX_HASHED_BYTES = 256 * 2**20


def verify_model(  # noqa: PLR0913 - the optional ones are keywords
    model: Path,
    location: str | None,
    cases: Sequence[Case],
    *,
    baseline: Baseline | None = None,
    fail_fast: bool = False,
    diagnose: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Verify a GGUF file against the reference at `location`, which may be what the cases themselves expect.

    Without a location these are it if all of them expect something of the file; otherwise the reference is looked for.
    With `diagnose` the report tells what may be the reason where cases fail or decode differently.
    """
    from tokverify.files.load import load_model
    from tokverify.verify.comparison import verify_tokenizers

    encoder = load_model(model)
    opened = _with_expect(model, encoder, location, cases) or _with_reference(model, encoder, location)
    report = verify_tokenizers(
        opened.actual,
        opened.expected,
        cases,
        sides=opened.sides,
        baseline=baseline,
        fail_fast=fail_fast,
        on_progress=on_progress,
    )
    report = replace(report, versions={**report.versions, **opened.versions})
    if diagnose and (report.exit_code == 1 or report.decode_differences):
        return _with_diagnosis(opened, report)
    return report


def _with_diagnosis(opened: Comparison, report: Report) -> Report:
    from tokverify.diagnosis import diagnose, facts_of
    from tokverify.diagnosis.repair import with_repairs

    facts = facts_of(opened.expected, opened.path)
    result = diagnose(opened.actual.spec, facts, report.results, encoder=opened.actual)
    return with_repairs(replace(report, diagnosis=result.diagnosis)) if result else report


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What to compare, how a report describes the two sides, and the versions of what is involved.

    `expected` is None where cases are compared with what they themselves expect. `path` is the file that the reference
    was read from, where it is one.
    """

    actual: Encoder
    expected: Tokenizer | None
    sides: tuple[Side, Side]
    versions: Mapping[str, str]
    path: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceComparison(Comparison):
    """Two tokenizers to compare."""

    expected: Tokenizer


def open_comparison(model: Path, location: str | None) -> ReferenceComparison:
    """Open a GGUF file and its reference, and note where both came from."""
    from tokverify.files.load import load_model

    return _with_reference(model, load_model(model), location)


def _with_reference(model: Path, encoder: Encoder, location: str | None) -> ReferenceComparison:
    from tokverify.verify.side import reference_side

    found = _reference(model, encoder, location)
    return ReferenceComparison(
        actual=encoder,
        expected=found.tokenizer,
        sides=(model_side(model, encoder), reference_side(found)),
        versions={"python": platform.python_version(), **found.versions},
        path=found.path,
    )


def _with_expect(model: Path, encoder: Encoder, location: str | None, cases: Sequence[Case]) -> Comparison | None:
    """Return the comparison with what the cases expect, if that is asked for or all of them expect something."""
    from tokverify.references.location import EXPECT
    from tokverify.verify.expectation import expect_of, expect_side

    actual = model_side(model, encoder)
    if location is None and all(expect_of(case, actual) is not None for case in cases):
        expected = expect_side(cases, actual)
    elif location == EXPECT:
        expected = expect_side(cases)
    else:
        return None
    versions = {"python": platform.python_version()}
    return Comparison(actual=encoder, expected=None, sides=(actual, expected), versions=versions)


def model_side(model: Path, encoder: Encoder) -> Side:
    """Describe our side of a comparison."""
    from tokverify.files.tokenizer_file import file_of
    from tokverify.verify.side import side_of

    return replace(side_of(encoder), source=str(model), sha256=_sha256(file_of(model)))


def open_tokenizers(model: Path, location: str | None) -> tuple[Encoder, Tokenizer]:
    """Open a GGUF file and its reference, and nothing more."""
    from tokverify.files.load import load_model

    encoder = load_model(model)
    return encoder, _reference(model, encoder, location).tokenizer


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
