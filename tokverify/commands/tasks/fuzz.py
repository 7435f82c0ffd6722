"""Search for texts that a model and its reference encode differently."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.case import Case
from tokverify.cases.loading import load_cases
from tokverify.commands.tasks.opening import open_reference, open_subject, open_tokenizers
from tokverify.commands.tasks.own_rules import add_rule_findings
from tokverify.commands.tasks.run import explain_missing_diagnosis
from tokverify.compare.comparison import compare_beyond_texts, verify_tokenizers
from tokverify.compare.fuzz.case_result import case_id
from tokverify.compare.fuzz.earlier import EarlierFailures
from tokverify.compare.fuzz.explained import Explained, ExplainingChange
from tokverify.compare.fuzz.loop import fuzz
from tokverify.compare.fuzz.plan import FuzzPlan
from tokverify.compare.limits.explaining import explainer_of
from tokverify.compare.opened import OpenedModel, OpenedReference
from tokverify.errors import GoneError, TokverifyError
from tokverify.location import Location
from tokverify.report.fuzz import DifferenceKind, FuzzProgress, FuzzReport, Stop
from tokverify.report.run import CaseResult, Status
from tokverify.report.tokenizer_difference import FAIL_ON
from tokverify.system.input_file import read_verbatim
from tokverify.system.output_file import write_file
from tokverify.texts.generator import GENERATORS
from tokverify.texts.sample import Sample

if TYPE_CHECKING:
    from tokverify.repair.change import TokenizerChange

_DEFAULT_SECONDS = 60.0


def fuzz_model(  # noqa: PLR0913 - the optional ones are keywords
    model: str | Path,
    reference: str | Path | Location | None = None,
    *,
    seconds: float | None = None,
    count: int | None = None,
    coverage: float | None = None,
    seed: int = 0,
    generators: Sequence[str] = (),
    corpus: Sequence[Path] = (),
    fail_on: Sequence[str] = FAIL_ON,
    decoding: bool = False,
    diagnose: bool = False,
    replay: bool = False,
    jobs: int = 1,
    options: Mapping[str, object] | None = None,
    on_progress: Callable[[FuzzProgress], None] = lambda _: None,
) -> FuzzReport:
    """Generate texts, encode them with a model and its reference, and shrink those that differ.

    Stops at the first of the given limits, or after 60 seconds if neither `seconds` nor `count` is given.

    Args:
        model: The tokenizer under test: a file, or the location of any other tokenizer. Only a file is diagnosed.
        reference: The tokenizer to compare with; None to look for one.
        seconds: The time limit.
        count: The number of texts.
        coverage: The share of the vocabulary's pieces to reach, from 0 to 1.
        seed: The seed of the generators; the same seed generates the same texts.
        generators: The names of the generators to use; all by default.
        corpus: Text files to mutate.
        fail_on: Differences between the tokenizers themselves that fail, as for `verify_model`.
        decoding: Compare decoding too; always done with llama.cpp.
        diagnose: Search for the cause of failures, as `verify_model` does, and merge causes with the same explanation.
        replay: Try the texts first on which the two differed in earlier runs, and remember those of this run.
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
    opened = open_subject(model)
    found = open_reference(opened, reference)
    earlier = EarlierFailures.of(opened.description.source, found.description.source) if replay else None
    plan = FuzzPlan(
        seed=seed,
        generators=tuple(generators) or tuple(GENERATORS),
        count=count,
        seconds=_DEFAULT_SECONDS if seconds is None and count is None else seconds,
        coverage=coverage,
        decoding=decoding,
        earlier=earlier.read() if earlier else (),
        corpus=tuple(read_verbatim(Path(path)) for path in corpus),
    )
    fuzzed = fuzz(
        opened.tokenizer,
        found.tokenizer,
        plan,
        sides=(opened.description, found.description),
        limits=explainer_of(opened.tokenizer, found),
        jobs=jobs,
        open_again=partial(open_tokenizers, model, reference),
        explain=(
            partial(explain_results, opened, found)
            if diagnose and isinstance(opened, OpenedModel)
            else lambda _: Explained(None)
        ),
        on_progress=on_progress,
    )
    if earlier:
        earlier.write(_samples_to_keep(fuzzed, plan.earlier))
    versions = {**fuzzed.report.versions, **opened.versions, **found.versions}
    report = replace(fuzzed.report, options=dict(options or {}), versions=versions, fail_on=tuple(fail_on))
    try:
        if not fuzzed.gone:
            report = compare_beyond_texts(report, opened.tokenizer, found.tokenizer)
    except GoneError as error:
        fuzzed = replace(fuzzed, stop=Stop.GONE, gone=str(error))
    if isinstance(opened, OpenedModel) and not fuzzed.gone:
        report = add_rule_findings(report, opened, found)
    if diagnose and fuzzed.causes and isinstance(opened, OpenedReference):
        report = replace(report, undiagnosed=explain_missing_diagnosis(opened))
    from tokverify.repair.repair import add_repairs

    return replace(fuzzed, report=add_repairs(report))


def _samples_to_keep(fuzzed: FuzzReport, earlier: Sequence[Sample]) -> Iterator[Sample]:
    """Yield all minimal texts; also the earlier ones, if they may still differ without being among those."""
    for cause, result in zip(fuzzed.causes, fuzzed.report.results, strict=True):
        if cause.kind is not DifferenceKind.SKIPPED:
            yield Sample(result.case.text, result.add_special, result.parse_special)
            yield from (Sample(text.text, text.add_special, text.parse_special) for text in cause.others)
    if fuzzed.unlisted or fuzzed.stop in {Stop.INTERRUPTED, Stop.GONE}:
        yield from earlier


def explain_results(model: OpenedModel, reference: OpenedReference, results: Sequence[CaseResult]) -> Explained:
    """Diagnose failing texts as `tokverify run` does: a change must not break the shipped cases that match."""
    from tokverify.repair.search import diagnose

    shipped = verify_tokenizers(model.encoder, reference.tokenizer, load_cases())
    if shipped.gone:
        raise GoneError(shipped.gone)
    matching = [result for result in shipped.results if result.status is Status.MATCH]
    found = diagnose(model.spec, reference, [*results, *matching], encoder=model.encoder)
    if found is None:
        return Explained(None)
    changes = [
        ExplainingChange(change.sentence, change.encoder(model.spec, model.encoder))
        for change in _parts_first(found.changes)
    ]
    return Explained(found.diagnosis, changes)


def _parts_first(changes: Sequence[TokenizerChange]) -> list[TokenizerChange]:
    """Put changes that are part of the best one before it: two faults remain two causes."""
    if not changes:
        return []
    best, *rest = changes
    parts = [change for change in rest if change.sentence in best.sentence]
    return [*parts, best, *(change for change in rest if change not in parts)]


def save_cases(report: FuzzReport, path: Path, *, model: Path | str, seed: int) -> int:
    """Write the minimal texts as a YAML suite that names the model and the seed, and return how many there are."""
    from tokverify.cases.suite_writer import render_suite

    cases = list(_cases(report))
    if cases:
        note = f"Found by `tokverify fuzz`: {Path(model).name} against {report.report.expected.name}, seed {seed}."
        write_file(path, render_suite(cases, note=note))
    return len(cases)


def _cases(report: FuzzReport) -> Iterator[Case]:
    """Yield a case for every minimal text."""
    for cause, result in zip(report.causes, report.report.results, strict=True):
        if result.status is Status.SKIPPED:
            continue
        yield result.case
        for found in cause.others:
            yield replace(
                result.case,
                id=case_id(cause.kind, found),
                text=found.text,
                note=f"It has the same cause as {result.case.id}.",
                add_special=found.add_special,
                parse_special=found.parse_special,
            )
