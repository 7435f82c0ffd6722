"""Compare a model and its reference on a corpus."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tokverify.corpus.cause import Classifier
from tokverify.corpus.check import TokenizerChecker
from tokverify.corpus.columns import choose_columns
from tokverify.corpus.conclusion import conclude
from tokverify.corpus.example import Comparison
from tokverify.corpus.locate import find_files
from tokverify.corpus.plan import Plan, Request, Shard, choose_unit_bytes, divide
from tokverify.corpus.processes import Processes
from tokverify.corpus.progress import ProgressCounter
from tokverify.corpus.schedule import run_units
from tokverify.corpus.state import StateDirectory
from tokverify.corpus.work import Worker
from tokverify.errors import TokverifyError
from tokverify.tasks.opening import engine_version, open_model, open_reference
from tokverify.text.wording import plural
from tokverify.verify.mode import Mode, Modes
from tokverify.version import __version__

if TYPE_CHECKING:
    from tokverify.corpus.result import Tally, UnitResult
    from tokverify.corpus.unit import WorkUnit
    from tokverify.report.corpus import CorpusReport
    from tokverify.report.corpus_progress import CorpusProgress
    from tokverify.tasks.opening import OpenedModel, OpenedReference


@dataclass(frozen=True, kw_only=True)
class Opened:
    """Both sides of a comparison, and what is asked of them."""

    request: Request
    model: OpenedModel
    reference: OpenedReference

    @property
    def mode(self) -> Mode:
        """The options to encode with."""
        return Mode(self.request.add_special, self.request.parse_special)

    def identity(self) -> dict[str, str]:
        """Return everything besides the files that the results depend on, by names for the user."""
        reference = self.reference.description
        versions = {f"version of {name}": version for name, version in self.reference.found.versions.items()}
        return {
            "the model": self.model.encoder.fingerprint,
            "the reference": f"{reference.name} {reference.fingerprint or reference.sha256 or reference.source}",
            "the version of tokverify": __version__,
            **versions,
            "--text": self.request.columns.text or "",
            "--ids": self.request.columns.ids or "",
            "--add-special": str(self.request.add_special),
            "--parse-special": str(self.request.parse_special),
            "--sample": str(self.request.rate),
        }


def open_request(request: Request) -> Opened:
    """Open both sides.

    Raises:
        TokverifyError: If a file cannot be read, or no reference is found.
    """
    model = open_model(request.model)
    return Opened(request=request, model=model, reference=open_reference(model, request.reference))


def start_worker(request: Request, identity: Mapping[str, str]) -> Worker:
    """Open both sides in the process of a worker, which may run on another machine.

    Raises:
        TokverifyError: If they are not those of the plan.
    """
    opened = open_request(request)
    changed = [name for name, value in opened.identity().items() if identity.get(name) != value]
    if changed:
        raise TokverifyError(f"{request.model}: a worker has other files or versions: {', '.join(changed)}")
    actual, expected = opened.model.encoder, opened.reference.tokenizer
    checker = TokenizerChecker(actual, expected, opened.mode, Classifier(actual, expected).classify)
    return Worker(checker, request.columns, request.rate)


def verify_corpus(  # noqa: PLR0913 - the optional ones are keywords
    model: str | Path,
    reference: str | Path | None,
    data: Sequence[str | Path],
    *,
    text: str | None = None,
    ids: str | None = None,
    add_special: bool = True,
    parse_special: bool = True,
    sample: float = 1.0,
    max_differences: int = 0,
    jobs: int = 1,
    state: Path | None = None,
    shard: Shard | None = None,
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
        jobs: The number of processes.
        state: The directory that keeps the result of each part, so that a run can be resumed.
        shard: The part of the corpus to verify.
        on_progress: Called after each part.

    Returns:
        The report.

    Raises:
        TokverifyError: If a tokenizer or the corpus cannot be opened, or the state is that of another plan.
    """
    request = Request(
        model=str(model),
        reference=None if reference is None else str(reference),
        data=tuple(str(location) for location in data),
        add_special=add_special,
        parse_special=parse_special,
        rate=sample,
    )
    opened, plan = make_plan(request, text, ids)
    units = shard.select(plan.units) if shard else plan.units
    stored = StateDirectory(state) if state else None
    tally = run_plan(plan, units, jobs=jobs, state=stored, on_progress=on_progress)
    report = conclude_plan(opened, plan, tally)
    name = f"{shard.number}/{shard.total}" if shard else ""
    return replace(report, max_differences=max_differences, shard=name)


def make_plan(request: Request, text: str | None, ids: str | None) -> tuple[Opened, Plan]:
    """Find the files, choose the columns, open both sides, and divide the work.

    Raises:
        TokverifyError: If something cannot be found, opened or chosen.
    """
    found = find_files(request.data)
    chosen = choose_columns(found.files, text, ids)
    opened = open_request(replace(request, columns=chosen.columns))
    ignored = f"{plural(found.ignored, 'file')} of unknown formats ignored" if found.ignored else ""
    units = tuple(divide(found.files, choose_unit_bytes(found.files)))
    notes = tuple(note for note in (chosen.note, ignored) if note)
    return opened, Plan(opened.request, opened.identity(), units, notes)


def run_plan(
    plan: Plan,
    units: Sequence[WorkUnit],
    *,
    jobs: int,
    state: StateDirectory | None,
    on_progress: Callable[[CorpusProgress], None],
) -> Tally:
    """Process the units that have no result yet, and add up the results of all of them.

    Raises:
        TokverifyError: If the state is that of another plan or cannot be written, or no worker can be started.
    """
    counter = ProgressCounter(units)
    missing = units
    if state:
        state.begin(plan)
        missing = state.missing(units)
        counter.take_all(state.results(plan))

    def take(result: UnitResult) -> None:
        if state:
            state.write(result)
        counter.take(result)
        on_progress(counter.progress)

    on_progress(counter.progress)
    if missing:
        with Processes(min(jobs, len(missing)), partial(start_worker, plan.request, plan.options)) as executor:
            run_units(executor, missing, plan.id, take)
    return counter.tally


def conclude_plan(opened: Opened, plan: Plan, tally: Tally) -> CorpusReport:
    """Shrink and explain the examples of a tally, and describe both sides."""
    from tokverify.tasks.fuzz import explain_results

    model, reference = opened.model, opened.reference
    modes = Modes(model.encoder, reference.tokenizer)
    comparison = Comparison(
        actual=model.encoder,
        expected=reference.tokenizer,
        sides=(model.description, reference.description),
        mode=opened.mode,
        explain=lambda results: explain_results(model, reference, results).diagnosis,
        notes=(*plan.notes, *modes.summary),
        options=msgspec.to_builtins(plan.request),
        versions={**engine_version(model.encoder), **reference.versions},
    )
    return conclude(tally, comparison)
