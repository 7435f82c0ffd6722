"""Fuzz: try generated texts on two tokenizers until told to stop, in one process or several.

Batches depend on the seed and their number alone, and their results are taken in order. So a run is the same however
many processes share the work, as long as it is not the time that ends it.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from tokverify.errors import TokverifyError
from tokverify.fuzz.cause import Causes
from tokverify.fuzz.coverage import Coverage
from tokverify.fuzz.generator import BATCH, batch, usable
from tokverify.fuzz.sample import vocabulary_of
from tokverify.fuzz.trial import Kind, Outcome, Trial
from tokverify.report.fuzz import FuzzReport, Plan, Progress, Stop
from tokverify.report.run import Report
from tokverify.verify.side import side_of
from tokverify.verify.vocabulary import compare_vocabularies

if TYPE_CHECKING:
    from concurrent.futures import Future

    from tokverify.report.run import Side
    from tokverify.tokenizer import Tokenizer

    OpenSides = Callable[[], tuple[Tokenizer, Tokenizer]]

_AHEAD = 3
"""Batches in work or waiting for each process."""


def fuzz(  # noqa: PLR0913 - the optional ones are keywords
    actual: Tokenizer,
    expected: Tokenizer,
    plan: Plan,
    *,
    sides: tuple[Side, Side] | None = None,
    jobs: int = 1,
    open_again: OpenSides | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> FuzzReport:
    """Try texts until the plan says to stop, or Ctrl-C does; what was found until then is always returned.

    Args:
        actual: The tokenizer under test.
        expected: The one that is taken to be right.
        plan: What to try, and until when.
        sides: How the report describes the two; worked out from the tokenizers if not given.
        jobs: How many processes share the work.
        open_again: Opens the same two tokenizers in another process; must be given for more than one job, and be a
            function that can be pickled.
        on_progress: Called after each batch.

    Raises:
        TokverifyError: If no generator has anything to work with.
    """
    run = _Run(actual, expected, plan)
    batches = run.parallel(jobs, open_again) if jobs > 1 and open_again else run.serial()
    stop = Stop.COUNT
    try:
        for result in batches:
            run.take(result)
            on_progress(run.progress)
            if run.reason_to_stop:
                stop = run.reason_to_stop
                break
    except KeyboardInterrupt:
        stop = Stop.INTERRUPTED
    finally:
        batches.close()
    return run.report(sides or (side_of(actual), side_of(expected)), stop)


class BatchResult(NamedTuple):
    """What came of a batch: how many texts, ids not seen before, and what did not match, by place."""

    strings: int
    ids: set[int]
    outcomes: list[tuple[int, Outcome]]


class Worker:
    """Works on batches, each made from its number."""

    def __init__(self, trial: Trial, plan: Plan) -> None:
        self._trial = trial
        self._seed = plan.seed
        self._vocabulary = vocabulary_of(trial.actual, plan.corpus)
        self.names = usable(plan.generators, self._vocabulary)
        self._seen: set[int] = set()

    def work(self, number: int, limit: int | None) -> BatchResult:
        """Try a batch, or the first `limit` texts of it."""
        samples = batch(self.names, self._vocabulary, self._seed, number)[:limit]
        ids: set[int] = set()
        outcomes = self._trial.run(samples, ids.update)
        # Batches come in order, so what this worker has told before has been counted by now.
        ids -= self._seen
        self._seen |= ids
        return BatchResult(len(samples), ids, [(at, outcome) for at, outcome in enumerate(outcomes) if outcome])


class _Run:
    """The state of a run: what has been tried and found so far."""

    def __init__(self, actual: Tokenizer, expected: Tokenizer, plan: Plan) -> None:
        self._start = time.monotonic()
        self._plan = plan
        self._trial = Trial.of(actual, expected, decoding=plan.decoding)
        self._vocabularies = compare_vocabularies(actual, expected)
        self._worker = Worker(self._trial, plan)
        self._names = self._worker.names
        if not self._names:
            names = ", ".join(plan.generators)
            raise TokverifyError(f"no text to try: {names} cannot make any for this vocabulary; name other generators")
        self._causes = Causes(self._trial)
        self._coverage = Coverage(actual)
        self._strings = self._skipped = 0
        self._made: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()

    def serial(self) -> Generator[BatchResult, None, None]:
        """Yield the results of batches, worked on here."""
        for number, limit in self._numbers():
            yield self._worker.work(number, limit)

    def parallel(self, jobs: int, open_sides: OpenSides) -> Generator[BatchResult, None, None]:
        """Yield the results of batches in order, worked on by other processes."""
        from tokverify.system.worker_pool import worker_pool

        numbers = self._numbers()
        waiting: deque[Future[BatchResult]] = deque()
        with worker_pool(jobs, partial(_begin, open_sides, self._plan)) as pool:
            while True:
                while len(waiting) < jobs * _AHEAD and (following := next(numbers, None)):
                    waiting.append(pool.submit(_work, *following))
                if not waiting:
                    return
                yield waiting.popleft().result()

    def _numbers(self) -> Iterator[tuple[int, int | None]]:
        """Yield the numbers of the batches to do, and how many texts of each."""
        size = max(1, BATCH // len(self._names)) * len(self._names)
        for number in count():
            left = None if self._plan.count is None else self._plan.count - number * size
            if left is not None and left <= 0:
                return
            yield number, left

    def take(self, result: BatchResult) -> None:
        """Count a result in; the order decides which sample stands for a cause."""
        self._strings += result.strings
        self._coverage.add(sorted(result.ids))
        for place in range(min(len(self._names), result.strings)):
            name = self._names[place]
            self._made[name] += len(range(place, result.strings, len(self._names)))
        for place, outcome in result.outcomes:
            name = self._names[place % len(self._names)]
            if outcome.kind is Kind.SKIPPED:
                self._skipped += 1
            else:
                self._failed[name] += 1
            if self._is_late:
                self._causes.unlisted += 1
            else:
                self._causes.add(outcome, name)

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._start

    @property
    def _is_late(self) -> bool:
        return self._plan.seconds is not None and self._seconds >= self._plan.seconds

    @property
    def reason_to_stop(self) -> Stop | None:
        """Why to stop now."""
        if self._plan.coverage is not None and self._coverage.pieces.ratio >= self._plan.coverage:
            return Stop.COVERAGE
        return Stop.TIME if self._is_late else None

    @property
    def progress(self) -> Progress:
        """How far the run is."""
        return Progress(
            self._strings,
            self._failed.total(),
            len(self._causes.listed),
            self._coverage.pieces,
            self._coverage.merges,
        )

    def report(self, sides: tuple[Side, Side], stop: Stop) -> FuzzReport:
        """Put everything together."""
        from tokverify.version import __version__

        causes = self._causes.listed
        return FuzzReport(
            Report(
                *sides,
                vocabulary=self._vocabularies,
                results=tuple(cause.result for cause in causes),
                versions={"tokverify": __version__},
            ),
            causes=causes,
            strings=self._strings,
            failing=self._failed.total(),
            skipped=self._skipped,
            unlisted=self._causes.unlisted,
            by_generator={name: (self._made[name], self._failed[name]) for name in self._names},
            pieces=self._coverage.pieces,
            merges=self._coverage.merges,
            stop=stop,
            seconds=self._seconds,
            notes=self._trial.notes,
        )


_new_worker: Callable[[], Worker]
_worker: Worker | None = None


def _begin(open_sides: OpenSides, plan: Plan) -> None:
    """Start a worker process."""
    global _new_worker  # noqa: PLW0603 - a worker process has one task
    _new_worker = partial(_open_worker, open_sides, plan)


def _open_worker(open_sides: OpenSides, plan: Plan) -> Worker:
    return Worker(Trial.of(*open_sides(), decoding=plan.decoding), plan)


def _work(number: int, limit: int | None) -> BatchResult:
    global _worker  # noqa: PLW0603 - a worker process has one task
    # Not in `_begin`, whose errors would reach nobody.
    _worker = _worker or _new_worker()
    return _worker.work(number, limit)
