"""Measure how many tokens tokenizers need for texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.commands.tasks.opening import open_tokenizer
from tokverify.compare.opened import OpenedModel, engine_version, python_version
from tokverify.engine.settings import resolve
from tokverify.errors import answer_or
from tokverify.explain.stats.measure import StatsSubject, make_subject, measure
from tokverify.report.stats import StatsReport
from tokverify.sources.tokenizer_file import read_spec
from tokverify.version import __version__

if TYPE_CHECKING:
    from tokverify.commands.tasks.run import OnProgress


def measure_tokenizers(
    locations: Iterable[str | Path],
    files: Sequence[Path] = (),
    *,
    options: Mapping[str, object] | None = None,
    on_progress: OnProgress | None = None,
) -> StatsReport:
    """Count the tokens that tokenizers need for texts.

    Args:
        locations: The tokenizers: GGUF files, or anything a reference can be.
        files: The texts; the samples that come with tokverify by default.
        options: The options to record in the report.
        on_progress: Called with the number of bytes done and the number of all bytes.

    Returns:
        The report, with counts for each text and tokenizer.

    Raises:
        TokverifyError: If a file cannot be read.
    """
    subjects = open_subjects(map(str, locations))
    measured = measure(subjects, [Path(file) for file in files], on_progress=on_progress)
    versions = {"tokverify": __version__, **engine_version(), **python_version(), **measured.versions}
    return replace(measured, options=dict(options or {}), versions=versions)


def open_subjects(locations: Iterable[str]) -> list[StatsSubject]:
    """Open tokenizers, and give each a unique name.

    Raises:
        TokverifyError: As `open_tokenizer` does.
    """
    subjects: list[StatsSubject] = []
    for location in locations:
        subject = _open_subject(location)
        namesakes = sum(other.name.partition(" (")[0] == subject.name for other in subjects)
        subjects.append(replace(subject, name=f"{subject.name} ({namesakes + 1})") if namesakes else subject)
    return subjects


def _open_subject(location: str) -> StatsSubject:
    opened = open_tokenizer(location)
    if isinstance(opened, OpenedModel):
        encoder = opened.encoder
        subject = make_subject(encoder.name, location, encoder, encoder.settings)
        return replace(subject, fingerprint=encoder.fingerprint)
    found = opened.found
    name = found.path.name if found.path else location
    # A library does not provide the types of tokens.
    settings = answer_or(None, lambda path: resolve(read_spec(path)), found.path) if found.path else None
    subject = make_subject(name, found.source, found.tokenizer, settings)
    return replace(subject, sha256=found.sha256, versions=found.versions)
