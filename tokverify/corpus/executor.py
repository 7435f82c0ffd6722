"""Executor: where the work is done. Local processes and clusters implement the same small interface."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias

from tokverify.errors import TokverifyError

if TYPE_CHECKING:
    from array import array

    from tokverify.corpus.result import Tally
    from tokverify.corpus.unit import UnitPart
    from tokverify.corpus.work import Worker

Rows: TypeAlias = "array[int]"
"""The rows of documents, as in `Document`, as signed 64-bit integers; -1 if one is not known."""

StartWorker: TypeAlias = "Callable[[], Worker]"
"""Opens both tokenizers in another process; it must support pickling."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker is asked to do."""

    part: UnitPart
    locates: bool = False
    """Only find out where the documents of the part are."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A worker could not do a job."""

    message: str
    crashed: bool = False
    """Whether its process ended."""
    timed_out: bool = False
    """Whether it ended because a document took too long, so that there is no use in trying again."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A job that ended."""

    job: Job
    outcome: Tally | Rows | Failure
    seconds: float = 0.0
    """How long the worker was busy."""


class Executor(Protocol):
    """Does jobs in other processes, which exist inside its `with` block only."""

    @property
    def capacity(self) -> int:
        """How many jobs to submit at the same time, so that no worker ever waits."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def submit(self, job: Job) -> None:
        """Hand over a job."""

    def wait(self) -> Finished:
        """Wait until any job has ended; at least one must be under way.

        Raises:
            TokverifyError: If workers cannot be started.
        """


def do_job(worker: Worker, job: Job) -> Tally | Rows | Failure:
    """Do a job in a worker's process."""
    try:
        return worker.locate(job.part) if job.locates else worker.process(job.part)
    except TokverifyError as error:
        return Failure(str(error))
