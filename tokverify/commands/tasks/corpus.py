"""Compare a model and its reference on a corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import msgspec

from tokverify.cases.suite_writer import render_suite
from tokverify.commands.tasks.opening import open_model, open_reference
from tokverify.compare.limits.explaining import Explainer, explainer_of
from tokverify.compare.opened import OpenedModel, OpenedReference, engine_version, python_version
from tokverify.corpus.cause import Classifier
from tokverify.corpus.check import Checker, TokenizedChecker, TokenizerChecker
from tokverify.corpus.conclusion import Comparison, conclude
from tokverify.corpus.coverage import CoverageDescriber
from tokverify.corpus.distill import distill
from tokverify.corpus.document import WorkUnit
from tokverify.corpus.executor import Executor, Processes, available_processors
from tokverify.corpus.locate import choose_columns, find_files
from tokverify.corpus.plan import Plan, Request, Shard, choose_unit_bytes, divide
from tokverify.corpus.ray_cluster import RayCluster
from tokverify.corpus.result import Tally, UnitResult
from tokverify.corpus.schedule import run_units
from tokverify.corpus.state import ProgressCounter, StateDirectory
from tokverify.corpus.work import Observation, Worker
from tokverify.errors import TokverifyError
from tokverify.location import Location
from tokverify.report.corpus import CorpusProgress, CorpusReport, Throughput
from tokverify.report.diagnosis import Diagnosis
from tokverify.report.run import CaseResult
from tokverify.report.side import Side
from tokverify.sources.stores.location import locate
from tokverify.system.output_file import check_writable, write_file
from tokverify.text.wording import list_items, plural
from tokverify.texts.mode import Mode, Modes
from tokverify.tokenizer import Tokenizer
from tokverify.version import __version__


@dataclass(frozen=True, kw_only=True)
class Opened:
    """Both sides of a comparison, and what is asked of them."""

    request: Request
    model: OpenedModel
    reference: OpenedReference | None
    """None if the corpus contains the ids to compare with those of the model."""

    @property
    def mode(self) -> Mode:
        """The options to encode with."""
        return Mode(self.request.add_special, self.request.parse_special)

    @property
    def expected(self) -> Tokenizer:
        """The tokenizer that is assumed to be right."""
        return self.reference.tokenizer if self.reference else self.model.encoder

    def identity(self) -> dict[str, str]:
        """Return everything besides the files that the results depend on, by names for the user."""
        return {
            "the model": self.model.encoder.fingerprint,
            "the reference": self._describe_reference(),
            "the engine": engine_version(self.model.encoder)["engine"],  # the Python engine examines less
            "the version of tokverify": __version__,
            **self._versions(),
            "--text-column": self.request.columns.text or "",
            "--ids-column": self.request.columns.ids or "",
            "--bos-eos": str(self.request.add_special),
            "--parse-special": str(self.request.parse_special),
            "--sample": str(self.request.rate),
            "--distill": str(self.request.keeps_excerpts),
        }

    def make_worker(self) -> Worker:
        """Return what processes the units."""
        observation = Observation(self.model.encoder, self.mode, self.request.keeps_excerpts)
        return Worker(self._make_checker(), self.request.columns, self.request.rate, observation)

    def compare(self, plan: Plan, judge: str | None = None) -> Comparison:
        """Describe what was compared, for a report; `judge` is the location of a third tokenizer.

        Raises:
            TokverifyError: If the third tokenizer cannot be opened.
        """
        encoder = self.model.encoder
        modes = Modes(encoder, self.expected)
        return Comparison(
            actual=encoder,
            expected=self.expected,
            sides=self._sides(),
            mode=modes.choose("", self.mode),
            judge=open_reference(self.model, judge).tokenizer if judge else None,
            explain=self._explain,
            limits=self._limits(),
            reads_ids=self.reference is None,
            notes=(*plan.notes, *modes.summary),
            options=msgspec.to_builtins(plan.request, enc_hook=lambda location: location.text),
            versions={**engine_version(encoder), **(self.reference.versions if self.reference else python_version())},
        )

    def _make_checker(self) -> Checker:
        encoder, expected = self.model.encoder, self.expected
        classifier = Classifier(encoder, expected)
        if self.reference is None:
            return TokenizedChecker(encoder, self.mode, classifier)
        return TokenizerChecker(encoder, expected, self.mode, classifier.classify, self._limits())

    def _limits(self) -> Explainer:
        return explainer_of(self.model.encoder, self.reference) if self.reference else Explainer()

    def _describe_reference(self) -> str:
        if self.reference is None:
            return "the model itself, as the corpus contains ids"
        side = self.reference.description
        return f"{side.name} {side.fingerprint or side.sha256 or side.source}"

    def _versions(self) -> Mapping[str, str]:
        versions = self.reference.found.versions if self.reference else {}
        return {f"version of {name}": version for name, version in versions.items()}

    def _sides(self) -> tuple[Side, Side]:
        if self.reference:
            return self.model.description, self.reference.description
        column = self.request.columns.ids
        ids = Side("ids", f"the column {column}" if column else "the ids in the corpus")
        return ids, self.model.description

    def _explain(self, results: Sequence[CaseResult]) -> Diagnosis | None:
        from tokverify.commands.tasks.fuzz import explain_results

        return explain_results(self.model, self.reference, results).diagnosis if self.reference else None


def open_request(request: Request) -> Opened:
    """Open both sides.

    Raises:
        TokverifyError: If a file cannot be read, no reference is found, or one is given for ids.
    """
    model = open_model(request.model)
    if not request.reads_ids:
        return Opened(request=request, model=model, reference=open_reference(model, request.reference))
    if request.reference is not None:
        raise TokverifyError("ids in a corpus are compared with those of MODEL itself; omit --reference")
    return Opened(request=request, model=model, reference=None)


def start_worker(request: Request, identity: Mapping[str, str]) -> Worker:
    """Open both sides in the process of a worker, which may run on another machine.

    Raises:
        TokverifyError: If they are not those of the plan.
    """
    opened = open_request(request)
    changed = [name for name, value in opened.identity().items() if identity.get(name) != value]
    if changed:
        raise TokverifyError(f"{request.model.text}: a worker has other files or versions: {', '.join(changed)}")
    return opened.make_worker()


def verify_corpus(  # noqa: PLR0913 - the optional ones are keywords
    model: str | Path | Location,
    reference: str | Path | Location | None,
    data: Sequence[str | Path],
    *,
    text: str | None = None,
    ids: str | None = None,
    add_special: bool = True,
    parse_special: bool = True,
    sample: float = 1.0,
    max_differences: int = 0,
    strict: bool = False,
    allow_null: bool = False,
    jobs: int | None = 1,
    state: Path | None = None,
    shard: Shard | None = None,
    ray: str | None = None,
    judge: str | None = None,
    distilled: Path | None = None,
    timing: bool = False,
    outputs: Sequence[Path] = (),
    on_progress: Callable[[CorpusProgress], None] = lambda _: None,
) -> CorpusReport:
    """Encode all documents of a corpus with a model and its reference, and find those that differ.

    The report does not depend on the number of processes, on how the work is divided, or on interruptions.

    Args:
        model: The tokenizer under test.
        reference: The tokenizer to compare with; None to look for one.
        data: Files, directories, patterns with wildcards, and URLs that fsspec understands.
        text: The column with the texts; detected by default.
        ids: The column with ids to verify, if the corpus is already tokenized.
        add_special: Add BOS and EOS as each side is configured to.
        parse_special: Recognize control tokens in the texts.
        sample: The share of the documents to compare, from 0 to 1, chosen by the hash of their texts.
        max_differences: How many documents may differ without failing.
        allow_null: Accept rows without a value, which are counted in any case.
        strict: Also count documents that differ only because of limits of llama.cpp.
        jobs: The number of workers; None for one for each processor of the machine or cluster.
        state: The directory that keeps the result of each part, so that a run can be resumed.
        shard: The part of the corpus to verify.
        ray: The address of a Ray cluster to use instead of processes, or `auto`.
        judge: The location of a third tokenizer, which encodes the examples too.
        distilled: The file to write a suite to that covers what occurs in the corpus.
        timing: Record how long the workers were busy, which differs from run to run.
        outputs: Files that will be written afterwards, which must not be inputs.
        on_progress: Called after each part.

    Returns:
        The report.

    Raises:
        TokverifyError: If a tokenizer or the corpus cannot be opened, the state is that of another plan, or a file
            would overwrite an input.
    """
    request = Request(
        model=locate(model),
        reference=None if reference is None else locate(reference),
        data=tuple(str(location) for location in data),
        add_special=add_special,
        parse_special=parse_special,
        rate=sample,
        keeps_excerpts=distilled is not None,
    )
    opened, plan = make_plan(request, text, ids)
    check_outputs(plan, distilled, outputs)
    units = shard.select(plan.units) if shard else plan.units
    stored = StateDirectory(state) if state else None
    busy_seconds = 0.0

    def watch(progress: CorpusProgress) -> None:
        nonlocal busy_seconds
        busy_seconds = progress.busy_seconds
        on_progress(progress)

    comparison = opened.compare(plan, judge)
    tally = run_plan(plan, units, comparison.coverage, jobs=jobs, ray=ray, state=stored, on_progress=watch)
    report = conclude_plan(opened, comparison, tally, distilled)
    name = f"{shard.number}/{shard.total}" if shard else ""
    throughput = Throughput(busy_seconds=busy_seconds) if timing else None
    return replace(
        report, max_differences=max_differences, strict=strict, allow_null=allow_null, shard=name, throughput=throughput
    )


def make_plan(request: Request, text: str | None, ids: str | None) -> tuple[Opened, Plan]:
    """Find the files, choose the columns, open both sides, and divide the work.

    Raises:
        TokverifyError: If something cannot be found, opened or chosen.
    """
    found = find_files(request.data)
    chosen = choose_columns(found.files, text, ids)
    opened = open_request(replace(request, columns=chosen.columns, reads_ids=chosen.reads_ids))
    ignored = f"files that do not look like data are ignored: {list_items(found.ignored)}" if found.ignored else ""
    units = tuple(divide(found.files, choose_unit_bytes(found.files)))
    tables = [file.path for file in found.files if file.format == "text" and file.path.endswith((".csv", ".tsv"))]
    plain = f"tables are read as plain text, with their commas and quotes: {list_items(tables)}" if tables else ""
    notes = tuple(note for note in (chosen.note, ignored, plain) if note)
    return opened, Plan(opened.request, opened.identity(), units, notes)


def check_outputs(plan: Plan, distilled: Path | None, outputs: Iterable[Path]) -> None:
    """Fail before the work is done if a file could not be written afterwards, or would overwrite an input.

    Raises:
        TokverifyError: As `check_writable` does.
    """
    inputs = [plan.request.model, plan.request.reference, *{unit.file.path: None for unit in plan.units}]
    for path in outputs if distilled is None else (distilled, *outputs):
        check_writable(path, inputs)


def run_plan(  # noqa: PLR0913 - the optional ones are keywords
    plan: Plan,
    units: Sequence[WorkUnit],
    coverage: CoverageDescriber,
    *,
    jobs: int | None,
    ray: str | None = None,
    state: StateDirectory | None,
    on_progress: Callable[[CorpusProgress], None],
) -> Tally:
    """Process the units that have no result yet, and add up the results of all of them.

    A result that cannot be stored counts in full, and once as unreadable, because the next run has to repeat the unit.

    Raises:
        TokverifyError: If the state is that of another plan or cannot be created, or no worker can be started.
    """
    counter = ProgressCounter(units)
    files = {unit.id: unit.file for unit in units}
    if state:
        state.begin(plan)
        counter.take_stored(state, plan)

    def take(result: UnitResult) -> None:
        counter.take(state.store(result, files[result.unit]) if state else result)
        if state:
            counter.store(state, plan)
        on_progress(counter.progress)
        if result.tally.coverage:
            coverage.prepare(result.tally.coverage)

    on_progress(counter.progress)
    if missing := counter.missing:
        with _make_executor(plan, len(missing), jobs, ray) as executor:
            run_units(executor, missing, plan.id, take)
    return counter.tally


def _make_executor(plan: Plan, units: int, jobs: int | None, ray: str | None) -> Executor:
    """Return the executor that processes some units."""
    start = partial(start_worker, plan.request, plan.options)
    if ray is not None:
        return RayCluster(ray, start, jobs and min(jobs, units))
    return Processes(min(jobs or available_processors(), units), start)


def conclude_plan(opened: Opened, comparison: Comparison, tally: Tally, distilled: Path | None) -> CorpusReport:
    """Shrink and explain the examples of a tally, describe both sides, and distill the corpus into a YAML suite.

    Raises:
        TokverifyError: If the tally has no excerpts to distill, or the file cannot be written.
    """
    report = conclude(tally, comparison)
    if report.report.diagnosis:
        from tokverify.repair.repair import add_repairs

        report = replace(report, report=add_repairs(report.report))
    if distilled is not None:
        _write_suite(distilled, report, tally, opened)
    return report


def _write_suite(path: Path, report: CorpusReport, tally: Tally, opened: Opened) -> None:
    if not tally.witnesses:
        raise TokverifyError(
            f"{path}: nothing can be distilled, as no excerpts of documents were kept; verify the corpus with --distill"
        )
    distilled = distill(tally.witnesses, report, opened.model.encoder, opened.mode)
    note = (
        f"Distilled by `tokverify corpus` from {plural(report.documents, 'document')}:"
        f" {distilled.covered:,} tokens and features"
    )
    if distilled.missing:
        note += f"; {len(distilled.missing):,} more occur only in longer texts"
    write_file(path, render_suite(distilled.cases, note=f"{note}."))
