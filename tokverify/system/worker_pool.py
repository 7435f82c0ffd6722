"""Processes that share the work of a run, and never outlive it.

Ctrl-C reaches all of them, but only the process that started them answers it.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from tokverify.errors import ENDING_SIGNALS, TokverifyError

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

    P = ParamSpec("P")
    T = TypeVar("T")

_WATCH_SECONDS = 0.5


class WorkerPool:
    """Processes that are started as work comes in."""

    def __init__(self, executor: ProcessPoolExecutor) -> None:
        self._executor = executor

    def submit(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have a process do something; it must be possible to pickle that and its result."""
        with _signals_held():
            return self._executor.submit(work, *args, **kwargs)


@contextmanager
def worker_pool(jobs: int, begin: Callable[[], object] | None = None) -> Iterator[WorkerPool]:
    """Share work among so many processes, each of which calls `begin` first.

    All have ended when the block has. Leaving it by an error, such as an interrupt, ends them at once; a generator that
    is closed in it only waits for what they are doing.

    Raises:
        TokverifyError: If one of them dies.
    """
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    executor = ProcessPoolExecutor(jobs, get_context("spawn"), _begin, (begin,))
    try:
        yield WorkerPool(executor)
    except BrokenProcessPool as error:
        raise TokverifyError("a worker process died; look for what ended it, or try again with -j 1") from error
    except GeneratorExit:
        raise
    except BaseException:
        for process in active_children():
            process.kill()
        raise
    finally:
        executor.shutdown(cancel_futures=True)


@contextmanager
def _signals_held() -> Iterator[None]:
    """Let signals wait while a process is started, which starts with them held, too."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(begin: Callable[[], object] | None) -> None:
    """Start a process of the pool."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING_SIGNALS)
    # subtle: each process of a pool holds the pipe that its work comes through open for writing, so that none would
    # ever meet its end. And the parent may be gone by now, so that `os.getppid` would name another one.
    parent = parent_process()
    if parent and parent.pid:
        end_with(parent.pid)
    if begin:
        begin()


def end_with(parent: int) -> None:
    """Have this process end as soon as the one that started it is gone, such as killed."""
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    os._exit(1)
