"""Compare two versions of a tokenizer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tokverify.cases.loading import load_cases
from tokverify.diff.compare import compare_versions
from tokverify.diff.version import open_version
from tokverify.fuzz.plan import FuzzPlan
from tokverify.tasks.text_file import read_text_file
from tokverify.version import __version__

if TYPE_CHECKING:
    from tokverify.cases.case import Case
    from tokverify.report.diff import ChangeReport
    from tokverify.report.fuzz import FuzzProgress


def diff_tokenizers(  # noqa: PLR0913 - the optional ones are keywords
    old: str | Path,
    new: str | Path,
    cases: Iterable[Case] | None = None,
    *,
    fuzz_seconds: float | None = None,
    seed: int = 0,
    corpus: Sequence[Path] = (),
    behavior_only: bool = False,
    options: Mapping[str, object] | None = None,
    on_progress: Callable[[FuzzProgress], None] = lambda _: None,
) -> ChangeReport:
    """Compare two tokenizers, such as a new version with an old one: their parts, and their ids.

    Args:
        old: A file, a directory, a hub id, a server or `REVISION:PATH` of a git repository.
        new: The same for the other tokenizer.
        cases: The texts to encode; the shipped cases by default.
        fuzz_seconds: How long to fuzz in addition; None for not at all.
        seed: The seed of the fuzzer.
        corpus: Text files; the share of their lines that are encoded differently is measured.
        behavior_only: Accept parts that differ as long as all texts get the same ids.
        options: The options to record in the report.
        on_progress: Called after each batch of the fuzzer.

    Raises:
        TokverifyError: If one of them cannot be read.
    """
    cases = load_cases() if cases is None else list(cases)
    plan = None if fuzz_seconds is None else FuzzPlan(seed=seed, seconds=fuzz_seconds)
    lines = _lines(corpus) if corpus else None
    with TemporaryDirectory() as directory:
        report = compare_versions(
            open_version(str(old), _subdirectory(directory, "old")),
            open_version(str(new), _subdirectory(directory, "new")),
            cases,
            plan=plan,
            corpus=lines,
            behavior_only=behavior_only,
            on_fuzz=on_progress,
        )
    return replace(report, options=dict(options or {}), versions={"tokverify": __version__})


def _lines(corpus: Sequence[Path]) -> Iterator[str]:
    """Read all files, then yield their lines without the empty ones."""
    texts = [read_text_file(Path(path)) for path in corpus]
    return (line for text in texts for line in text.split("\n") if line.strip())


def _subdirectory(directory: str, name: str) -> Path:
    """Create a directory for what is checked out of git."""
    path = Path(directory, name)
    path.mkdir()
    return path
