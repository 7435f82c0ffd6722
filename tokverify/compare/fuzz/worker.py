"""Make and try batches of texts, in this process or in one of several."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from tokverify.compare.fuzz.plan import FuzzPlan
from tokverify.compare.fuzz.trial import Trial, TrialOutcome
from tokverify.texts.generator import make_batch, select_usable
from tokverify.texts.sample import common_vocabulary
from tokverify.tokenizer import Tokenizer

OpenSides = Callable[[], tuple[Tokenizer, Tokenizer]]


class BatchResult(NamedTuple):
    """The result of one batch."""

    strings: int
    """The number of texts tried."""

    ids: set[int]
    """Ids that this worker had not seen before."""

    outcomes: list[tuple[int, TrialOutcome]]
    """The texts that did not match, with their index in the batch."""


class Worker:
    """Makes and tries batches."""

    def __init__(self, trial: Trial, plan: FuzzPlan) -> None:
        self._trial = trial
        self._seed = plan.seed
        self._vocabulary = common_vocabulary(trial.actual, trial.expected, plan.corpus)
        self.names = select_usable(plan.generators, self._vocabulary)
        self._seen: set[int] = set()

    def work(self, number: int, limit: int | None) -> BatchResult:
        """Try a batch, or the first `limit` texts of it."""
        samples = make_batch(self.names, self._vocabulary, self._seed, number)[:limit]
        ids: set[int] = set()
        outcomes = self._trial.run(samples, ids.update)
        # Results are processed in order, so ids that this worker has returned before are already counted.
        ids -= self._seen
        self._seen |= ids
        return BatchResult(len(samples), ids, [(at, outcome) for at, outcome in enumerate(outcomes) if outcome])


_new_worker: Callable[[], Worker]
_worker: Worker | None = None


def start_worker(open_sides: OpenSides, plan: FuzzPlan) -> None:
    """Prepare this process to work on batches; the first one opens the tokenizers."""
    global _new_worker  # noqa: PLW0603 - a worker process has one task
    _new_worker = partial(_open_worker, open_sides, plan)


def _open_worker(open_sides: OpenSides, plan: FuzzPlan) -> Worker:
    return Worker(Trial.of(*open_sides(), decoding=plan.decoding), plan)


def work_on_batch(number: int, limit: int | None) -> BatchResult:
    """Try a batch in this process, as `Worker.work` does."""
    global _worker  # noqa: PLW0603 - a worker process has one task
    # Not in `start_worker`: nothing would report its errors.
    _worker = _worker or _new_worker()
    return _worker.work(number, limit)
