"""Processes: an executor that starts worker processes on this machine, and replaces those that die."""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tokverify.corpus.executor import Failure, Finished, Job, StartWorker, do_job
from tokverify.system.signals import block_signals
from tokverify.system.worker_pool import begin_worker

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

CRASHED = "the worker process ended"
TIMED_OUT = "encoding takes too long"
_SECONDS_TO_END = 5


@dataclass(slots=True)
class _Child:
    process: SpawnProcess
    connection: Connection[Any, Any]
    job: Job | None = None


class Processes:
    """Does jobs in processes on this machine.

    Args:
        count: How many processes.
        start: Opens the tokenizers in each of them.
    """

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
