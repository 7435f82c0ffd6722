"""Search for texts that a model and its reference encode differently."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.errors import TokverifyError
from tokverify.fuzz.generator import GENERATORS
from tokverify.fuzz.loop import fuzz
from tokverify.fuzz.plan import FuzzPlan
from tokverify.report.run import Status
from tokverify.system.input_file import read_verbatim
from tokverify.system.output_file import write_file
from tokverify.tasks.opening import open_model, open_reference, open_tokenizers

if TYPE_CHECKING:
    from tokverify.report.fuzz import FuzzProgress, FuzzReport

_DEFAULT_SECONDS = 60.0


def fuzz_model(  # noqa: PLR0913 - the optional ones are keywords
    model: str | Path,
    reference: str | Path | None = None,
    *,
    seconds: float | None = None,
    count: int | None = None,
    coverage: float | None = None,
    seed: int = 0,
    generators: Sequence[str] = (),
    corpus: Sequence[Path] = (),
    decoding: bool = False,
    jobs: int = 1,
    options: Mapping[str, object] | None = None,
    on_progress: Callable[[FuzzProgress], None] = lambda _: None,
) -> FuzzReport:
    """Generate texts, encode them with a model and its reference, and shrink those that differ.

    Stops at the first of the given limits, or after 60 seconds if neither `seconds` nor `count` is given.

    Args:
        model: The tokenizer under test.
        reference: The tokenizer to compare with; None to look for one.
        seconds: The time limit.
        count: The number of texts.
        coverage: The share of the vocabulary's pieces to reach, from 0 to 1.
        seed: The seed of the generators; the same seed generates the same texts.
        generators: The names of the generators to use; all by default.
        corpus: Text files to mutate.
        decoding: Compare decoding too; always done with llama.cpp.
        jobs: The number of processes.
        options: The options to record in the report.
        on_progress: Called after each batch.

    Returns:
        The report, with a minimal text for each cause.

    Raises:
        TokverifyError: If a file cannot be read, no reference is found, or no generator has anything to work with.
    """
    if "corpus" in generators and not corpus:
        raise TokverifyError("the generator `corpus` mutates text files, and none was given; name one")
    plan = FuzzPlan(
        seed=seed,
        generators=tuple(generators) or tuple(GENERATORS),
        count=count,
        seconds=_DEFAULT_SECONDS if seconds is None and count is None else seconds,
        coverage=coverage,
        decoding=decoding,
        corpus=tuple(read_verbatim(Path(path)) for path in corpus),
    )
    opened = open_model(model)
    found = open_reference(opened, reference)
    fuzzed = fuzz(
        opened.encoder,
        found.tokenizer,
        plan,
        sides=(opened.description, found.description),
        jobs=jobs,
        open_again=partial(open_tokenizers, model, reference),
        on_progress=on_progress,
    )
    versions = {**fuzzed.report.versions, **found.versions}
    return replace(fuzzed, report=replace(fuzzed.report, options=dict(options or {}), versions=versions))


def save_cases(report: FuzzReport, path: Path, *, model: Path, seed: int) -> int:
    """Write the minimal texts of a report as a YAML suite, if there are any.

    Args:
        report: The report.
        path: The file to write.
        model: The model, named in the suite.
        seed: The seed, named in the suite.

    Returns:
        The number of cases written.
    """
    from tokverify.cases.suite_writer import render_suite

    cases = [result.case for result in report.report.results if result.status is not Status.SKIPPED]
    if cases:
        note = f"Found by `tokverify fuzz`: {model.name} against {report.report.expected.name}, seed {seed}."
        write_file(path, render_suite(cases, note=note))
    return len(cases)
