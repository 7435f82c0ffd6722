"""Executor: where the work is done. Local processes and clusters implement the same small interface."""

from __future__ import annotations

import os
import signal
import time
from array import array
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from types import TracebackType
from typing import Any, Protocol, Self, TypeAlias

from tokverify.corpus.document import UnitPart
from tokverify.corpus.result import Tally
from tokverify.corpus.work import Worker
from tokverify.errors import TokverifyError
from tokverify.system.quick_exit import block_signals
from tokverify.system.worker_pool import begin_worker

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


CRASHED = "the worker process ended"
TIMED_OUT = "encoding takes too long"
_SECONDS_TO_END = 5


@dataclass(slots=True)
class _Child:
    process: SpawnProcess
    connection: Connection[Any, Any]
    job: Job | None = None


class Processes:
    """Does jobs in `count` processes on this machine, in each of which `start` opens the tokenizers."""

    def __init__(self, count: int, start: StartWorker) -> None:
        self._count = count
        self._start = start
        self._children: list[_Child] = []
        self._waiting: deque[Job] = deque()

    @property
    def capacity(self) -> int:
        """As many jobs as processes: a unit takes much longer than to ask for the next one."""
        return self._count

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for child in self._children:
            child.process.kill()
        for child in self._children:
            child.process.join(_SECONDS_TO_END)
            child.connection.close()

    def submit(self, job: Job) -> None:
        """Hand over a job."""
        self._waiting.append(job)
        self._assign()

    def wait(self) -> Finished:
        """Wait until a job has ended."""
        while True:
            ready = wait([child.connection for child in self._children if child.job])
            child = next(child for child in self._children if child.connection in ready)
            finished = self._receive(child)
            self._assign()
            if finished:
                return finished

    def _assign(self) -> None:
        while self._waiting and (child := self._idle_child()):
            child.job = self._waiting.popleft()
            try:
                child.connection.send(child.job)
            except OSError:  # it died while it had nothing to do
                self._waiting.appendleft(child.job)
                self._remove(child)

    def _idle_child(self) -> _Child | None:
        idle = next((child for child in self._children if not child.job), None)
        if idle is None and len(self._children) < self._count:
            idle = _start_child(self._start)
            self._children.append(idle)
        return idle

    def _receive(self, child: _Child) -> Finished | None:
        job = child.job
        if job is None:
            return None
        try:
            answer = child.connection.recv()
        except (EOFError, OSError):
            child.process.join(_SECONDS_TO_END)
            self._remove(child)
            return Finished(job, _explain_end(child.process.exitcode))
        child.job = None
        if isinstance(answer, BaseException):
            raise answer
        return Finished(job, *answer)

    def _remove(self, child: _Child) -> None:
        self._children.remove(child)
        child.process.kill()
        child.process.join()
        child.connection.close()


def _explain_end(code: int | None) -> Failure:
    """Say why a worker process ended: one that works for too long ends itself, see `Worker.limit_time`."""
    if hasattr(signal, "SIGALRM") and code == -signal.SIGALRM:
        return Failure(TIMED_OUT, crashed=True, timed_out=True)
    return Failure(CRASHED, crashed=True)


def available_processors() -> int:
    """Count the processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _start_child(start: StartWorker) -> _Child:
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, start), daemon=True)
    # A process that is being started must not be interrupted before it can handle signals.
    with block_signals():
        process.start()
    there.close()  # so that the end of the process ends the connection
    return _Child(process, here)


def _serve(connection: Connection[Any, Any], start: StartWorker) -> None:
    """Run as a worker process."""
    begin_worker()
    try:
        worker = start()
        worker.limit_time()
        while True:
            job = connection.recv()
            began = time.monotonic()
            outcome = do_job(worker, job)
            connection.send((outcome, time.monotonic() - began))
    except EOFError:
        return
    except Exception as error:  # noqa: BLE001 - the process that started this one raises it
        connection.send(error)
