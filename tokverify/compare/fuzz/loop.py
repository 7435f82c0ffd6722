"""Try generated texts on two tokenizers until a limit is reached, in one process or several.

A batch depends only on the seed and its number, and results are processed in order. So the result does not depend on
the number of processes, unless the time limit ends the run.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from tokverify.compare.fuzz.cause import Causes
from tokverify.compare.fuzz.explained import Explain, Explained, MergedCauses, merge_explained
from tokverify.compare.fuzz.trial import Trial, TrialOutcome
from tokverify.compare.fuzz.worker import BatchResult, Worker, start_worker, work_on_batch
from tokverify.compare.limits.explaining import Explainer, explainer_of
from tokverify.compare.limits.limit import Text
from tokverify.compare.opened import Opened
from tokverify.compare.side import side_of
from tokverify.errors import GoneError, TokverifyError
from tokverify.report.fuzz import (
    DifferenceKind,
    FuzzProgress,
    FuzzReport,
    GeneratorTally,
    Stop,
)
from tokverify.report.run import Report
from tokverify.report.side import Side
from tokverify.texts.coverage import CoverageCounter, ratio
from tokverify.texts.generator import BATCH
from tokverify.texts.vocabulary import compare_vocabularies
from tokverify.tokenizer import Tokenizer, why_hidden

if TYPE_CHECKING:
    from concurrent.futures import Future

    from tokverify.compare.fuzz.plan import FuzzPlan
    from tokverify.compare.fuzz.worker import OpenSides

EARLIER = "earlier"
"""The name of the texts of earlier runs among those of the generators."""

_DIAGNOSED = frozenset({DifferenceKind.IDS, DifferenceKind.ERROR})
_AHEAD = 3
"""Batches that are queued or running, per process."""


def fuzz(  # noqa: PLR0913 - the optional ones are keywords
    actual: Tokenizer,
    expected: Tokenizer,
    plan: FuzzPlan,
    *,
    sides: tuple[Side, Side] | None = None,
    limits: Explainer | None = None,
    jobs: int = 1,
    open_again: OpenSides | None = None,
    explain: Explain = lambda _: Explained(None),
    on_progress: Callable[[FuzzProgress], None] = lambda _: None,
) -> FuzzReport:
    """Try texts until a limit of the plan or Ctrl-C ends the run; either way, return what was found.

    The same holds if a side stops answering; the report then says why.

    Args:
        actual: The tokenizer under test.
        expected: The reference.
        plan: What to try, and the limits.
        sides: How the report describes the two; derived from the tokenizers by default.
        limits: Explains texts by limits of llama.cpp; by default, with what `expected` says itself.
        jobs: The number of processes that share the work.
        open_again: A function that opens the same two tokenizers in another process. It must support pickling; required
            for more than one job.
        explain: Diagnoses the causes at the end, so that those with the same explanation can be merged. It is not
            called after Ctrl-C.
        on_progress: Called after each batch.

    Raises:
        TokverifyError: If no generator can make texts for this vocabulary.
    """
    run = _Run(actual, expected, limits or explainer_of(actual, Opened(expected)), plan)
    batches = run.parallel(jobs, open_again) if jobs > 1 and open_again else run.serial()
    stop = Stop.COUNT
    try:
        run.replay()
        for result in batches:
            run.take(result)
            on_progress(run.progress)
            if run.reason_to_stop:
                stop = run.reason_to_stop
                break
    except KeyboardInterrupt:
        stop = Stop.INTERRUPTED
    except GoneError as error:
        stop = run.note_gone(error)
    finally:
        batches.close()
    return run.report(sides or (side_of(actual), side_of(expected)), stop, explain)


def _target(outcome: TrialOutcome) -> Text:
    sample = outcome.sample
    return Text(sample.text, sample.add_special, sample.parse_special, tuple(outcome.expected))


def _require_listing(actual: Tokenizer, expected: Tokenizer, plan: FuzzPlan) -> Tokenizer:
    """Return the tokenizer of which coverage is measured: the one under test, unless only the other lists its tokens.

    Raises:
        TokverifyError: If neither does, but the coverage decides when to stop.
    """
    listing = expected if why_hidden(actual) else actual
    if plan.coverage is not None and (reason := why_hidden(listing)):
        raise TokverifyError(f"the coverage is not known: {reason}; limit the time or the number of texts instead")
    return listing


class _Run:
    """The state of a run."""

    def __init__(self, actual: Tokenizer, expected: Tokenizer, limits: Explainer, plan: FuzzPlan) -> None:
        self._start = time.monotonic()
        self._plan = plan
        self._trial = Trial.of(actual, expected, decoding=plan.decoding)
        self._vocabularies = compare_vocabularies(actual, expected)
        self._worker = Worker(self._trial, plan)
        self._names = self._worker.names
        if not self._names:
            names = ", ".join(plan.generators)
            raise TokverifyError(
                f"no texts to try: no text can be generated for this vocabulary by {names}; choose other generators"
            )
        self._limits = limits
        self._causes = Causes(self._trial, lambda outcome: bool(self._find_limits(outcome)))
        self._explained: list[tuple[str, ...]] = []
        self._counter = CoverageCounter(_require_listing(actual, expected, plan))
        self._strings = self._skipped = 0
        self._gone = ""
        self._made: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()

    def serial(self) -> Generator[BatchResult, None, None]:
        """Yield the results of batches that run in this process."""
        for number, limit in self._numbers():
            yield self._worker.work(number, limit)

    def parallel(self, jobs: int, open_sides: OpenSides) -> Generator[BatchResult, None, None]:
        """Yield the results of batches that run in other processes, in order."""
        from tokverify.system.worker_pool import worker_pool

        numbers = self._numbers()
        waiting: deque[Future[BatchResult]] = deque()
        with worker_pool(jobs, partial(start_worker, open_sides, self._plan)) as pool:
            while True:
                while len(waiting) < jobs * _AHEAD and (following := next(numbers, None)):
                    waiting.append(pool.submit(work_on_batch, *following))
                if not waiting:
                    return
                yield waiting.popleft().result()

    def _numbers(self) -> Iterator[tuple[int, int | None]]:
        """Yield the number of each batch, and how many of its texts to try (None for all)."""
        size = max(1, BATCH // len(self._names)) * len(self._names)
        for number in count():
            left = None if self._plan.count is None else self._plan.count - number * size
            if left is not None and left <= 0:
                return
            yield number, left

    def replay(self) -> None:
        """Try the texts of earlier runs."""
        ids: set[int] = set()
        samples = self._plan.earlier
        outcomes = self._trial.run(samples, ids.update) if samples else []
        self._strings += len(samples)
        self._counter.add(sorted(ids))
        self._made[EARLIER] = len(samples)
        for outcome in filter(None, outcomes):
            self._count(outcome, EARLIER)

    def take(self, result: BatchResult) -> None:
        """Add the result of a batch; the order decides which sample represents a cause."""
        self._strings += result.strings
        self._counter.add(sorted(result.ids))
        for place in range(min(len(self._names), result.strings)):
            name = self._names[place]
            self._made[name] += len(range(place, result.strings, len(self._names)))
        for place, outcome in result.outcomes:
            self._count(outcome, self._names[place % len(self._names)])

    def _count(self, outcome: TrialOutcome, name: str) -> None:
        if codes := self._find_limits(outcome):
            self._explained.append(codes)
            return
        if outcome.kind is DifferenceKind.SKIPPED:
            self._skipped += 1
        else:
            self._failed[name] += 1
        if self._is_late or self._gone:
            self._causes.unlisted.append(outcome.sample)
            return
        try:
            self._causes.add(outcome, name)
        except GoneError as error:
            # The difference was seen before; it cannot be shrunk anymore.
            self.note_gone(error)
            self._causes.unlisted.append(outcome.sample)

    def _find_limits(self, outcome: TrialOutcome) -> tuple[str, ...]:
        """Return the codes of the limits of llama.cpp that explain an outcome completely."""
        return self._limits.find(_target(outcome)) if outcome.kind is DifferenceKind.IDS else ()

    def note_gone(self, error: GoneError) -> Stop:
        """Note that a side has stopped answering."""
        self._gone = str(error)
        return Stop.GONE

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._start

    @property
    def _is_late(self) -> bool:
        return self._plan.seconds is not None and self._seconds >= self._plan.seconds

    @property
    def reason_to_stop(self) -> Stop | None:
        """The limit that has been reached, if any."""
        if self._gone:
            return Stop.GONE
        if self._plan.coverage is not None and ratio(self._counter.pieces) >= self._plan.coverage:
            return Stop.COVERAGE
        return Stop.TIME if self._is_late else None

    @property
    def progress(self) -> FuzzProgress:
        """The progress so far."""
        return FuzzProgress(self._strings, self._failed.total(), len(self._causes.listed), self._counter.coverage)

    def report(self, sides: tuple[Side, Side], stop: Stop, explain: Explain) -> FuzzReport:
        """Build the report."""
        from tokverify.version import __version__

        explained, stop = self._explain(stop, explain)
        try:
            causes, unlisted = self._merge(explained)
        except GoneError as error:
            stop = self.note_gone(error)
            causes, unlisted = self._merge(Explained(None))
        return FuzzReport(
            report=Report(
                *sides,
                vocabulary=self._vocabularies,
                results=tuple(cause.described() for cause in causes),
                versions={"tokverify": __version__},
                diagnosis=explained.diagnosis,
                limits=self._limits.count(self._explained),
            ),
            strings=self._strings,
            failing=self._failed.total(),
            explained=len(self._explained),
            skipped=self._skipped,
            unlisted=unlisted,
            stop=stop,
            notes=self._trial.notes,
            coverage=self._counter.coverage,
            generators={name: GeneratorTally(self._made[name], self._failed[name]) for name in self._tallied},
            causes=tuple(cause.to_report() for cause in causes),
            gone=self._gone,
        )

    @property
    def _tallied(self) -> list[str]:
        return [EARLIER, *self._names] if self._plan.earlier else self._names

    def _merge(self, explained: Explained) -> MergedCauses:
        return merge_explained(self._trial, self._causes.listed, self._causes.unlisted, explained.changes)

    def _explain(self, stop: Stop, explain: Explain) -> tuple[Explained, Stop]:
        results = [cause.result for cause in self._causes.listed if cause.outcome.kind in _DIAGNOSED]
        if not results or stop in {Stop.INTERRUPTED, Stop.GONE}:
            return Explained(None), stop
        try:
            return explain(results), stop
        except GoneError as error:
            return Explained(None), self.note_gone(error)
