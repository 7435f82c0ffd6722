"""Look at, merge and repeat what runs of a corpus have stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from tokverify.commands.tasks.corpus import Opened, check_outputs, conclude_plan, open_request, run_plan
from tokverify.corpus.document import WorkUnit
from tokverify.corpus.files import PLAIN_SCHEMES, is_plain
from tokverify.corpus.locate import find_files
from tokverify.corpus.plan import Plan, describe_changes
from tokverify.corpus.state import ProgressCounter, StateDirectory
from tokverify.errors import TokverifyError
from tokverify.location import Location
from tokverify.report.corpus import CorpusProgress, CorpusReport
from tokverify.sources.stores.location import locate


def corpus_status(state: Path) -> CorpusProgress:
    """Tell how far the runs of a state directory are, from its files alone.

    Raises:
        TokverifyError: If it is not a state directory, or a file in it is broken.
    """
    stored = StateDirectory(state)
    plan = stored.plan()
    counter = ProgressCounter(plan.units)
    counter.take_stored(stored, plan)
    return counter.progress


def merge_corpus(  # noqa: PLR0913 - the optional ones are keywords
    states: Sequence[Path],
    reference: str | Path | Location | None = None,
    *,
    max_differences: int = 0,
    strict: bool = False,
    allow_null: bool = False,
    judge: str | None = None,
    distilled: Path | None = None,
    outputs: Sequence[Path] = (),
) -> CorpusReport:
    """Make the report of everything that is stored in state directories of the same plan.

    `reference` is where the reference of the plan is; None is where the plan says, but a plan may not run anything.
    `judge`, `distilled` and `outputs` are as for `verify_corpus`.

    Raises:
        TokverifyError: If they belong to different plans, a tokenizer cannot be opened, or there is nothing to distill.
    """
    plan = _with_reference(_common_plan(states), reference)
    check_outputs(plan, distilled, outputs)
    counter = ProgressCounter(plan.units)
    for state in states:
        counter.take_stored(StateDirectory(state), plan)
    opened = _open(plan)
    report = conclude_plan(opened, opened.compare(plan, judge), counter.tally, distilled)
    remaining = counter.remaining_bytes
    return replace(
        report, max_differences=max_differences, strict=strict, allow_null=allow_null, remaining_bytes=remaining
    )


def retry_corpus(  # noqa: PLR0913 - the optional ones are keywords
    state: Path,
    reference: str | Path | Location | None = None,
    *,
    max_differences: int = 0,
    strict: bool = False,
    allow_null: bool = False,
    jobs: int | None = 1,
    judge: str | None = None,
    distilled: Path | None = None,
    outputs: Sequence[Path] = (),
    on_progress: Callable[[CorpusProgress], None] = lambda _: None,
) -> CorpusReport:
    """Repeat the units in which something could not be read, and do those that have no result yet.

    `reference` is as for `merge_corpus`; `judge`, `distilled` and `outputs` are as for `verify_corpus`.

    Raises:
        TokverifyError: If it is not a state directory, a file of the corpus has changed, or nothing can be distilled.
    """
    stored = StateDirectory(state)
    plan = _with_reference(stored.plan(), reference)
    check_outputs(plan, distilled, outputs)
    _require_plain_data(plan)
    opened = _open(plan)
    comparison = opened.compare(plan, judge)
    complete = {unit for total in stored.sums(plan.id) for unit in total.units}
    unknown = [unit for unit in plan.units if unit.id not in complete]
    failed = {result.unit for result in stored.results(plan.id, unknown) if result.tally.unreadable > result.tally.null}
    repeated = [unit for unit in unknown if unit.id in failed]
    for unit in repeated:
        _require_unchanged(unit)
    for unit in repeated:
        stored.remove(unit.id)
    tally = run_plan(plan, plan.units, comparison.coverage, jobs=jobs, state=stored, on_progress=on_progress)
    report = conclude_plan(opened, comparison, tally, distilled)
    return replace(report, max_differences=max_differences, strict=strict, allow_null=allow_null)


def _common_plan(states: Sequence[Path]) -> Plan:
    plan = StateDirectory(states[0]).plan()
    for state in states[1:]:
        other = StateDirectory(state).plan()
        if other.id != plan.id:
            raise TokverifyError(f"{state}: has another plan than {states[0]}: {describe_changes(plan, other)}")
    return plan


def _with_reference(plan: Plan, reference: str | Path | Location | None) -> Plan:
    """Take the user's word for where the reference is; that it is the same one is checked after it has been opened."""
    return plan if reference is None else replace(plan, request=replace(plan.request, reference=locate(reference)))


def _require_plain_data(plan: Plan) -> None:
    """Refuse data at an address that does more than to fetch it, as a stranger may have written the plan."""
    for unit in plan.units:
        if not is_plain(unit.file.path):
            schemes = ", ".join(f"{scheme}://" for scheme in PLAIN_SCHEMES)
            raise TokverifyError(
                f"{unit.file.path}: a stored plan may name only files and addresses that begin with {schemes};"
                " name this data yourself: run `tokverify corpus` with another --state"
            )


def _open(plan: Plan) -> Opened:
    opened = open_request(plan.request)
    now = replace(plan, options=opened.identity())
    if now.id != plan.id:
        changes = describe_changes(plan, now)
        raise TokverifyError(f"{plan.request.model.text}: has changed since the results were stored: {changes}")
    return opened


def _require_unchanged(unit: WorkUnit) -> None:
    files = find_files([unit.file.path]).files
    if files != (unit.file,):
        raise TokverifyError(
            f"{unit.file.path}: changed since the plan was made; run `tokverify corpus` with another --state"
        )
