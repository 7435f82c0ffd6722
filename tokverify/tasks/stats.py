"""Measure how many tokens tokenizers need for texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.stats.measure import measure
from tokverify.stats.subject import open_subjects
from tokverify.tasks.opening import python_version
from tokverify.version import __version__

if TYPE_CHECKING:
    from tokverify.report.stats import StatsReport
    from tokverify.tasks.run import OnProgress


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

    Raises:
        TokverifyError: If a file cannot be read.
    """
    subjects = open_subjects(map(str, locations))
    measured = measure(subjects, [Path(file) for file in files], on_progress=on_progress)
    versions = {"tokverify": __version__, **python_version(), **measured.versions}
    return replace(measured, options=dict(options or {}), versions=versions)
