"""Run units on an executor, and find the document that ends a worker.

A unit whose worker dies is tried again, because something else may have killed it. If it dies every time, the unit is
divided into halves until single documents are left; those that end a worker are recorded as unreadable. A worker also
ends, by itself, if a document takes too long.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable

from tokverify.corpus.document import UnitPart, Unreadable, WorkUnit
from tokverify.corpus.executor import Executor, Failure, Finished, Job, Rows
from tokverify.corpus.result import Tally, UnitResult, add
from tokverify.corpus.work import Recorder

_ATTEMPTS = 3


def run_units(
    executor: Executor, units: Iterable[WorkUnit], plan: str, on_result: Callable[[UnitResult], object]
) -> None:
    """Process the units of a plan, given by its id; the result of each is passed on as soon as it is complete.

    Raises:
        TokverifyError: If no worker can be started.
    """
    _Schedule(executor, plan, on_result).run(units)


class _Schedule:
    def __init__(self, executor: Executor, plan: str, on_result: Callable[[UnitResult], object]) -> None:
        self._executor = executor
        self._plan = plan
        self._on_result = on_result
        self._urgent: deque[Job] = deque()
        """Parts of units that have been begun."""
        self._crashes: Counter[Job] = Counter()
        self._open: Counter[str] = Counter()
        """How many jobs are left of each unit that has been begun."""
        self._tallies: dict[str, Tally] = {}
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._rows: dict[str, Rows] = {}
        """Where the documents are, of each unit that has to be divided."""

    def run(self, units: Iterable[WorkUnit]) -> None:
        waiting = iter(units)
        self._fill(waiting)
        while self._running:
            finished = self._executor.wait()
            self._seconds[finished.job.part.unit.id] += finished.seconds
            self._take(finished)
            done = self._close(finished.job.part.unit)
            self._fill(waiting)  # before the result is passed on, so that no worker waits meanwhile
            if done:
                self._on_result(done)

    def _fill(self, waiting: Iterable[WorkUnit]) -> None:
        """Submit jobs while there is room."""
        while self._running < self._executor.capacity:
            job = self._urgent.popleft() if self._urgent else self._next(waiting)
            if job is None:
                break
            self._executor.submit(job)

    @property
    def _running(self) -> int:
        return self._open.total() - len(self._urgent)

    def _next(self, waiting: Iterable[WorkUnit]) -> Job | None:
        unit = next(iter(waiting), None)
        if unit is None:
            return None
        self._tallies[unit.id] = Tally()
        self._open[unit.id] += 1
        return Job(UnitPart(unit))

    def _repeat(self, *jobs: Job) -> None:
        for job in jobs:
            self._open[job.part.unit.id] += 1
            self._urgent.append(job)

    def _take(self, finished: Finished) -> None:
        job, outcome = finished.job, finished.outcome
        if isinstance(outcome, Tally):
            self._add(job.part, outcome)
        elif not isinstance(outcome, Failure):
            self._rows[job.part.unit.id] = outcome
            self._divide(UnitPart(job.part.unit, 0, len(outcome)))
        elif outcome.crashed:
            self._take_crash(job, outcome)
        else:
            self._give_up(job.part, outcome.message)

    def _take_crash(self, job: Job, failure: Failure) -> None:
        part = job.part
        self._crashes[job] += 1
        is_divisible = part.last is not None and part.last - part.first > 1
        if self._crashes[job] < _ATTEMPTS and not is_divisible and not failure.timed_out:
            self._repeat(job)
        elif job.locates or (part.last is not None and not is_divisible):
            self._give_up(part, failure.message)
        elif part.last is None:
            self._repeat(Job(part, locates=True))
        else:
            self._divide(part)

    def _divide(self, part: UnitPart) -> None:
        last = part.last or 0
        middle = (part.first + last + 1) // 2
        halves = [UnitPart(part.unit, part.first, middle), UnitPart(part.unit, middle, last)]
        self._repeat(*(Job(half) for half in halves if half.first < (half.last or 0)))

    def _give_up(self, part: UnitPart, reason: str) -> None:
        rows = self._rows.get(part.unit.id)
        recorder = Recorder(part.unit.file)
        recorder.add_unreadable(Unreadable(None if rows is None else rows[part.first], reason))
        self._add(part, recorder.tally())

    def _add(self, part: UnitPart, tally: Tally) -> None:
        self._tallies[part.unit.id] = add(self._tallies[part.unit.id], tally)

    def _close(self, unit: WorkUnit) -> UnitResult | None:
        """Return the result of a unit if none of its jobs is left."""
        self._open[unit.id] -= 1
        if self._open[unit.id]:
            return None
        del self._open[unit.id]  # so that counting what is under way does not count all that was
        self._rows.pop(unit.id, None)
        return UnitResult(self._plan, unit.id, self._tallies.pop(unit.id), self._seconds.pop(unit.id))
